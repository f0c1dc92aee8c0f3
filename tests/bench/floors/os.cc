// System primitives: calls, wake-ups, signals, switches between threads.
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <atomic>
#include "common.h"
static void pin(int c) {
  cpu_set_t s;
  CPU_ZERO(&s);
  CPU_SET(c, &s);
  sched_setaffinity(0, sizeof s, &s);
}
static int futex(std::atomic<int>* a, int op, int v) {
  return syscall(SYS_futex, a, op | FUTEX_PRIVATE_FLAG, v, nullptr, nullptr, 0);
}
struct Arg {
  int a, b, cpu;
  std::atomic<int>* f;
  uint64_t n;
  int mode;
};
static std::atomic<int> F{0};
static volatile int sc = 0;
static void h(int) { sc = sc + 1; }
template <class A, class B>
void pp(const char* nm, int cpuB, uint64_t n, A a, B b, int reps = 7) {  // wall RTT, two threads
  std::vector<double> v;
  for (int r = 0; r < reps + 1; r++) {
    struct C {
      B* b;
      uint64_t n;
      int cpu;
    } c{&b, n, cpuB};
    pthread_t t;
    pthread_create(
        &t, 0,
        [](void* p) -> void* {
          auto c = (C*)p;
          pin(c->cpu);
          for (uint64_t i = 0; i < c->n; i++)
            (*c->b)();
          return nullptr;
        },
        &c);
    uint64_t m = mono_ns();
    for (uint64_t i = 0; i < n; i++)
      a();
    uint64_t e = mono_ns();
    pthread_join(t, 0);
    if (r) v.push_back(double(e - m) / n);
  }
  std::sort(v.begin(), v.end());
  printf("%-52s wall ns/RTT med %9.1f min %9.1f max %9.1f\n", nm, v[reps / 2], v[0], v[reps - 1]);
  fflush(stdout);
}
int main() {
  pin(1);
  bench("syscall getpid", 2000000, [](uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
      syscall(SYS_getpid);
  });
  int ev = eventfd(0, EFD_NONBLOCK);
  bench("eventfd write+read same thread", 500000, [&](uint64_t n) {
    uint64_t x = 1;
    for (uint64_t i = 0; i < n; i++) {
      if (write(ev, &x, 8) != 8 || read(ev, &x, 8) != 8) abort();
      x = 1;
    }
  });
  bench("eventfd write only", 500000, [&](uint64_t n) {
    uint64_t x = 1;
    for (uint64_t i = 0; i < n; i++) {
      if (write(ev, &x, 8) != 8) abort();
    }
  });
  bench("read EAGAIN on empty eventfd", 500000, [&](uint64_t n) {
    uint64_t x;
    read(ev, &x, 8);
    for (uint64_t i = 0; i < n; i++) {
      if (read(ev, &x, 8) > 0) abort();
    }
  });
  int ep = epoll_create1(0);
  epoll_event e{};
  e.events = EPOLLIN;
  epoll_ctl(ep, EPOLL_CTL_ADD, ev, &e);
  bench("epoll_wait(0) none ready", 500000, [&](uint64_t n) {
    epoll_event o;
    for (uint64_t i = 0; i < n; i++)
      epoll_wait(ep, &o, 1, 0);
  });
  bench("eventfd write+epoll_wait+read (raw epoll LT)", 300000, [&](uint64_t n) {
    uint64_t x = 1;
    epoll_event o;
    for (uint64_t i = 0; i < n; i++) {
      x = 1;
      write(ev, &x, 8);
      if (epoll_wait(ep, &o, 1, -1) != 1) abort();
      read(ev, &x, 8);
    }
  });
  pollfd pf{ev, POLLIN, 0};
  bench("poll(0) 1 fd none", 500000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
      poll(&pf, 1, 0);
  });
  int tf = timerfd_create(CLOCK_MONOTONIC, 0);
  bench("timerfd_settime", 300000, [&](uint64_t n) {
    itimerspec s{};
    s.it_value.tv_sec = 10;
    for (uint64_t i = 0; i < n; i++)
      timerfd_settime(tf, 0, &s, 0);
  });
  signal(SIGUSR1, h);
  bench("signal self tgkill + handler + sigreturn", 300000, [&](uint64_t n) {
    int p = getpid(), t = syscall(SYS_gettid);
    for (uint64_t i = 0; i < n; i++)
      syscall(SYS_tgkill, p, t, SIGUSR1);
  });
  bench("sigprocmask block+unblock pair", 300000, [&](uint64_t n) {
    sigset_t s, o;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    for (uint64_t i = 0; i < n; i++) {
      pthread_sigmask(SIG_BLOCK, &s, &o);
      pthread_sigmask(SIG_SETMASK, &o, 0);
    }
  });
  {
    int pfd[2];
    pipe(pfd);
    signal(SIGIO, h);
    fcntl(pfd[0], F_SETOWN, getpid());
    fcntl(pfd[0], F_SETFL, O_ASYNC | O_NONBLOCK);
    char c;
    bench("pipe write 1B + read 1B with O_ASYNC SIGIO", 200000, [&](uint64_t n) {
      for (uint64_t i = 0; i < n; i++) {
        write(pfd[1], "x", 1);
        read(pfd[0], &c, 1);
      }
    });
    fcntl(pfd[0], F_SETFL, O_NONBLOCK);
    bench("pipe write 1B + read 1B plain", 300000, [&](uint64_t n) {
      for (uint64_t i = 0; i < n; i++) {
        write(pfd[1], "x", 1);
        read(pfd[0], &c, 1);
      }
    });
  }
  bench("futex wake no waiter", 500000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
      futex(&F, FUTEX_WAKE, 1);
  });
  bench("sched_yield alone", 500000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
      sched_yield();
  });
  for (int cb : {1, 0}) {
    char nm[96];
    uint64_t n = cb ? 50000 : 20000;
    int e1 = eventfd(0, 0), e2 = eventfd(0, 0);
    snprintf(nm, 96, "eventfd ping-pong 2 threads %s", cb ? "same cpu" : "cross cpu");
    pp(
        nm, cb, n,
        [&] {
          uint64_t x = 1;
          write(e1, &x, 8);
          read(e2, &x, 8);
        },
        [&] {
          uint64_t x;
          read(e1, &x, 8);
          x = 1;
          write(e2, &x, 8);
        });
    std::atomic<int> f{0};
    snprintf(nm, 96, "futex ping-pong 2 threads %s", cb ? "same cpu" : "cross cpu");
    pp(
        nm, cb, n,
        [&] {
          f.store(1);
          futex(&f, FUTEX_WAKE, 1);
          while (f.load() == 1)
            futex(&f, FUTEX_WAIT, 1);
        },
        [&] {
          while (f.load() == 0)
            futex(&f, FUTEX_WAIT, 0);
          f.store(0);
          futex(&f, FUTEX_WAKE, 1);
        });
  }
  {
    std::atomic<int> f{0};
    pp(
        "atomic spin ping-pong cross cpu", 0, 200000,
        [&] {
          f.store(1, std::memory_order_release);
          uint64_t k = 0;
          while (f.load(std::memory_order_acquire))
            if (++k > 20000) sched_yield(), k = 0;
        },
        [&] {
          uint64_t k = 0;
          while (!f.load(std::memory_order_acquire))
            if (++k > 20000) sched_yield(), k = 0;
          f.store(0, std::memory_order_release);
        });
  }
  {
    pp(
        "sched_yield ping-pong same cpu (2 switches)", 1, 100000, [] { sched_yield(); },
        [] { sched_yield(); });
  }
}
