// Event queues under the hold model: a constant number is pending; each step takes the first one out
// and pushes another.
#include <boost/heap/d_ary_heap.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include "common.h"
// hold model: queue at constant N pending; each op = pop min + push (t + exp increment). ns per
// pop+push pair.
struct Ev {
  uint64_t t;
  uint64_t seq;
  void* p;
};
struct Later {
  bool operator()(const Ev& a, const Ev& b) const {
    return a.t > b.t || (a.t == b.t && a.seq > b.seq);
  }
};
static std::vector<uint32_t> inc;
static void mkinc(int kind) {
  std::mt19937_64 r(7);
  inc.resize(1 << 16);
  for (auto& x : inc) {
    if (kind == 0) {
      double u = (r() >> 11) * 0x1p-53;
      x = uint32_t(-log(1 - u) * 10000);
    } else if (kind == 1)
      x = 1200;
    else {
      x = (r() & 15) ? 1200 : 200000;
    }
  }
}
struct StdPQ {
  std::priority_queue<Ev, std::vector<Ev>, Later> q;
  void push(Ev e) { q.push(e); }
  Ev pop() {
    Ev e = q.top();
    q.pop();
    return e;
  }
};
struct BH4 {
  boost::heap::d_ary_heap<Ev, boost::heap::arity<4>, boost::heap::compare<Later>> q;
  void push(Ev e) { q.push(e); }
  Ev pop() {
    Ev e = q.top();
    q.pop();
    return e;
  }
};
struct Heap4 {
  std::vector<Ev> v;  // hand 4-ary, hole-based
  static bool lt(const Ev& a, const Ev& b) { return a.t < b.t || (a.t == b.t && a.seq < b.seq); }
  void push(Ev e) {
    size_t i = v.size();
    v.push_back(e);
    while (i) {
      size_t p = (i - 1) >> 2;
      if (!lt(e, v[p])) break;
      v[i] = v[p];
      i = p;
    }
    v[i] = e;
  }
  Ev pop() {
    Ev r = v[0];
    Ev e = v.back();
    v.pop_back();
    size_t n = v.size();
    if (!n) return r;
    size_t i = 0;
    for (;;) {
      size_t c = 4 * i + 1;
      if (c >= n) break;
      size_t m = c, en = std::min(c + 4, n);
      for (size_t k = c + 1; k < en; k++)
        if (lt(v[k], v[m])) m = k;
      if (!lt(v[m], e)) break;
      v[i] = v[m];
      i = m;
    }
    v[i] = e;
    return r;
  }
};
struct Heap4K {  // 4-ary on 128-bit keys (t:seq packed) + 32-bit slot index, keys separate
  struct K {
    unsigned __int128 k;
  };
  std::vector<unsigned __int128> k;
  std::vector<void*> p;
  void push(Ev e) {
    unsigned __int128 key = ((unsigned __int128)e.t << 64) | e.seq;
    size_t i = k.size();
    k.push_back(key);
    p.push_back(e.p);
    while (i) {
      size_t q = (i - 1) >> 2;
      if (!(key < k[q])) break;
      k[i] = k[q];
      p[i] = p[q];
      i = q;
    }
    k[i] = key;
    p[i] = e.p;
  }
  Ev pop() {
    Ev r{uint64_t(k[0] >> 64), uint64_t(k[0]), p[0]};
    auto key = k.back();
    void* pp = p.back();
    k.pop_back();
    p.pop_back();
    size_t n = k.size();
    if (!n) return r;
    size_t i = 0;
    for (;;) {
      size_t c = 4 * i + 1;
      if (c >= n) break;
      size_t m;
      if (c + 4 <= n) {
        size_t a = c + (k[c + 1] < k[c]);
        size_t b = c + 2 + (k[c + 3] < k[c + 2]);
        m = k[b] < k[a] ? b : a;
      } else {
        m = c;
        for (size_t x = c + 1; x < n; x++)
          if (k[x] < k[m]) m = x;
      }
      if (!(k[m] < key)) break;
      k[i] = k[m];
      p[i] = p[m];
      i = m;
    }
    k[i] = key;
    p[i] = pp;
    return r;
  }
};
struct StdMap {
  std::multimap<uint64_t, Ev> m;
  void push(Ev e) { m.emplace(e.t, e); }
  Ev pop() {
    auto it = m.begin();
    Ev e = it->second;
    m.erase(it);
    return e;
  }
};
struct Radix {
  std::vector<Ev> b[65];
  uint64_t last = 0;
  size_t n = 0;  // FIFO not strict: bucket 0 scanned from front in order
  size_t h = 0;
  static int bk(uint64_t a, uint64_t b) { return a == b ? 0 : 64 - __builtin_clzll(a ^ b); }
  void push(Ev e) {
    b[bk(e.t, last)].push_back(e);
    n++;
  }
  Ev pop() {
    if (h == b[0].size()) {
      b[0].clear();
      h = 0;
      int i = 1;
      while (b[i].empty())
        i++;
      uint64_t m = ~0ull;
      for (auto& e : b[i])
        m = std::min(m, e.t);
      last = m;
      for (auto& e : b[i])
        b[bk(e.t, last)].push_back(e);
      b[i].clear();
    }
    n--;
    return b[0][h++];
  }
};
struct Calendar {  // fixed width calendar (timing wheel, 2^16 slots x 2^sh) + overflow heap; slot =
                   // sorted small vector
  static constexpr int LB = 14;
  int sh;
  std::vector<std::vector<Ev>> s;
  std::vector<uint64_t> bm;
  uint64_t cur = 0;
  Heap4 ov;
  size_t n = 0;
  Calendar() : sh(6), s(1 << LB), bm((1 << LB) / 64) {}
  void ins(Ev e) {
    uint64_t d = e.t >> sh;
    auto& v = s[d & ((1 << LB) - 1)];
    bm[(d >> 6) & ((1 << LB) / 64 - 1)] |= 1ull << (d & 63);
    size_t i = v.size();
    v.push_back(e);
    while (i && Later()(e, v[i - 1])) {
      v[i] = v[i - 1];
      i--;
    }
    v[i] = e;
  }
  void push(Ev e) {
    n++;
    if ((e.t >> sh) >= cur + (1 << LB))
      ov.push(e);
    else
      ins(e);
  }
  Ev pop() {
    n--;
    for (;;) {
      while (ov.v.size() && (ov.v[0].t >> sh) < cur + (1 << LB))
        ins(ov.pop());
      // find next set
      uint64_t c = cur;
      for (;;) {
        uint64_t w = bm[(c >> 6) & ((1 << LB) / 64 - 1)] >> (c & 63);
        if (w) {
          c += __builtin_ctzll(w);
          break;
        }
        c = (c | 63) + 1;
        if (c >= cur + (1 << LB)) break;
      }
      if (c >= cur + (1 << LB)) {
        cur = ov.v.empty() ? cur : (ov.v[0].t >> sh);
        continue;
      }
      cur = c;
      auto& v = s[c & ((1 << LB) - 1)];
      Ev e = v.back();
      v.pop_back();
      if (v.empty()) bm[(c >> 6) & ((1 << LB) / 64 - 1)] &= ~(1ull << (c & 63));
      return e;
    }
  }
};
template <class Q>
void run(const char* nm, size_t N) {
  auto q = std::make_unique<Q>();
  uint64_t seq = 0;
  size_t j = 0;
  for (size_t i = 0; i < N; i++) {
    q->push({inc[j++ & 0xffff], seq++, nullptr});
  }
  char b[128];
  snprintf(b, 128, "%s N=%zu", nm, N);
  uint64_t chk = 0, lastt = 0;
  bool ok = true;
  bench(
      b, N >= 100000 ? 1000000 : 2000000,
      [&](uint64_t n) {
        for (uint64_t i = 0; i < n; i++) {
          Ev e = q->pop();
          ok &= e.t >= lastt;
          lastt = e.t;
          chk += e.seq;
          q->push({e.t + inc[j++ & 0xffff], seq++, nullptr});
        }
      },
      7);
  if (!ok) printf("  ORDER BROKEN\n");
  sink((void*)chk);
}
#include <cmath>
int main() {
  const char* kn[] = {"exp", "const", "bimodal"};
  for (int k = 0; k < 3; k++) {
    mkinc(k);
    printf("-- increments %s\n", kn[k]);
    for (size_t N : {10ul, 1000ul, 100000ul}) {
      run<StdPQ>("std::priority_queue", N);
      run<Heap4>("hand 4-ary heap (24B event)", N);
      run<Heap4K>("4-ary heap split 128b keys", N);
      run<BH4>("boost d_ary_heap<4>", N);
      run<StdMap>("std::multimap", N);
      run<Radix>("radix heap", N);
      run<Calendar>("bitmap calendar/wheel+overflow heap", N);
    }
  }
}
