// Context switches: raw jump_fcontext, Boost.Context, C++20 coroutines, indirect calls.
#include <boost/context/continuation.hpp>
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <coroutine>
#include "common.h"
namespace ctx = boost::context;
template <class Alloc>
void fiberN(const char* al, size_t N, size_t ss, bool creat) {
  char nm[128];
  {
    Alloc a(ss);
    std::vector<ctx::fiber> v;
    v.reserve(N);
    for (size_t i = 0; i < N; i++)
      v.emplace_back(std::allocator_arg, a, [](ctx::fiber&& m) {
        for (;;)
          m = std::move(m).resume();
        return std::move(m);
      });
    size_t k = 0;
    snprintf(nm, 128, "boost fiber resume round-trip %s N=%zu", al, N);
    bench(nm, 2000000 / (N > 1000 ? 2 : 1), [&](uint64_t n) {
      for (uint64_t i = 0; i < n; i++) {
        v[k] = std::move(v[k]).resume();
        if (++k == N) k = 0;
      }
    });
  }
}
template <class Alloc>
void create(const char* al, size_t ss) {
  char nm[128];
  snprintf(nm, 128, "boost fiber create+run+destroy %s %zuK", al, ss / 1024);
  Alloc a(ss);
  bench(nm, 100000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      ctx::fiber f(std::allocator_arg, a, [](ctx::fiber&& m) { return std::move(m); });
      f = std::move(f).resume();
    }
  });
}
static ctx::detail::transfer_t entry_dummy;
static void rawentry(ctx::detail::transfer_t t) {
  for (;;)
    t = ctx::detail::jump_fcontext(t.fctx, t.data);
}
static void rawN(size_t N) {
  const size_t ss = 16384;
  std::vector<ctx::detail::fcontext_t> v(N);
  std::vector<void*> st(N);
  for (size_t i = 0; i < N; i++) {
    st[i] = malloc(ss);
    v[i] = ctx::detail::make_fcontext((char*)st[i] + ss, ss, rawentry);
  }
  size_t k = 0;
  char nm[128];
  snprintf(nm, 128, "raw jump_fcontext round-trip 16K malloc N=%zu", N);
  bench(nm, 2000000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      auto t = ctx::detail::jump_fcontext(v[k], nullptr);
      v[k] = t.fctx;
      if (++k == N) k = 0;
    }
  });
  // coloured: stacks offset by 64*(i%61) to avoid same-set aliasing
  for (size_t i = 0; i < N; i++) {
    v[i] =
        ctx::detail::make_fcontext((char*)st[i] + ss - 64 * (i % 61), ss - 64 * (i % 61), rawentry);
  }
  k = 0;
  snprintf(nm, 128, "raw jump_fcontext round-trip 16K coloured N=%zu", N);
  bench(nm, 2000000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      auto t = ctx::detail::jump_fcontext(v[k], nullptr);
      v[k] = t.fctx;
      if (++k == N) k = 0;
    }
  });
  for (auto p : st)
    free(p);
}
struct Co {
  struct promise_type {
    Co get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> h;
};
__attribute__((noinline)) Co coro() {
  for (;;)
    co_await std::suspend_always{};
}
static void coN(size_t N) {
  std::vector<Co> v;
  for (size_t i = 0; i < N; i++)
    v.push_back(coro());
  size_t k = 0;
  char nm[128];
  snprintf(nm, 128, "c++20 coroutine resume round-trip N=%zu", N);
  bench(nm, 4000000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      v[k].h.resume();
      if (++k == N) k = 0;
    }
  });
  for (auto& c : v)
    c.h.destroy();
}
int main() {
  for (size_t N : {1ul, 1000ul, 100000ul})
    rawN(N);
  for (size_t N : {1ul, 1000ul, 100000ul})
    fiberN<ctx::fixedsize_stack>("fixedsize16K", N, 16384, false);
  for (size_t N : {1ul, 1000ul, 30000ul})
    fiberN<ctx::protected_fixedsize_stack>("protected16K", N, 16384, false);
  create<ctx::fixedsize_stack>("fixedsize", 16384);
  create<ctx::fixedsize_stack>("fixedsize", 131072);
  create<ctx::protected_fixedsize_stack>("protected", 16384);
  {
    ctx::pooled_fixedsize_stack a(16384);
    bench("boost fiber create+run+destroy pooled 16K", 100000, [&](uint64_t n) {
      for (uint64_t i = 0; i < n; i++) {
        ctx::fiber f(std::allocator_arg, a, [](ctx::fiber&& m) { return std::move(m); });
        f = std::move(f).resume();
      }
    });
  }
  {
    ctx::continuation c = ctx::callcc([](ctx::continuation&& m) {
      for (;;)
        m = m.resume();
      return std::move(m);
    });
    bench("boost callcc continuation resume round-trip N=1", 2000000, [&](uint64_t n) {
      for (uint64_t i = 0; i < n; i++)
        c = c.resume();
    });
  }
  for (size_t N : {1ul, 1000ul, 100000ul})
    coN(N);
  std::vector<void (*)()> fn;
  static volatile int z;
  bench("indirect call", 10000000, [&](uint64_t n) {
    void (*volatile f)() = +[] { z = z + 1; };
    for (uint64_t i = 0; i < n; i++)
      f();
  });
}
