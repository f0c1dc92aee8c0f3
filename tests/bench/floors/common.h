// Timing of a loop: one warm-up, then repetitions; median, least and most, in CPU and in wall time.
#pragma once
#include <time.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
// thread CPU time: robust to preemption by other processes on a shared core
static inline uint64_t cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static inline uint64_t mono_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}
template <class F>
void bench(const char* name, uint64_t n, F f, int reps = 9, double scale = 1) {  // f(n) does n ops
  std::vector<double> v, w;
  f(n / 10 + 1);
  for (int i = 0; i < reps; i++) {
    uint64_t a = cpu_ns(), m = mono_ns();
    f(n);
    uint64_t b = cpu_ns(), m2 = mono_ns();
    v.push_back(double(b - a) / n * scale);
    w.push_back(double(m2 - m) / n * scale);
  }
  std::sort(v.begin(), v.end());
  std::sort(w.begin(), w.end());
  printf("%-52s cpu ns/op med %9.2f min %9.2f max %9.2f | wall med %9.2f\n", name, v[reps / 2],
         v[0], v[reps - 1], w[reps / 2]);
  fflush(stdout);
}
static inline void sink(const void* p) { asm volatile("" ::"r"(p) : "memory"); }
