// Contenders take turns within each round, in one process on one thread, so that whatever disturbs
// the machine disturbs all of them alike. Figures are CPU time of that thread.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::bench {

inline double thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Tells the compiler that somebody looks at these bytes.
inline void look_at(const void* bytes) { asm volatile("" : : "r"(bytes) : "memory"); }

// ns for each of `times` calls.
template <class Step>
double measure(std::size_t times, Step step) {
  const double begin = thread_cpu_ns();
  for (std::size_t i = 0; i < times; ++i)
    step();
  return (thread_cpu_ns() - begin) / static_cast<double>(times);
}

struct Contender {
  std::string name;
  std::function<double()> run;  // ns per operation
};

// Prints the median of each one's rounds, least and most, and the ratio to the first one.
inline void compare(const std::string& title, const std::vector<Contender>& contenders,
                    int rounds = 9) {
  std::vector<std::vector<double>> ns(contenders.size());
  for (const Contender& contender : contenders)
    contender.run();  // warm-up
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i)
      ns[i].push_back(contenders[i].run());
  }
  for (auto& samples : ns)
    std::sort(samples.begin(), samples.end());
  const auto median = [](const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; };
  std::printf("%s\n", title.c_str());
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    std::printf("  %-44s %9.2f ns [%.2f-%.2f] %6.2fx\n", contenders[i].name.c_str(), median(ns[i]),
                ns[i].front(), ns[i].back(), median(ns[i]) / median(ns[0]));
  }
  std::fflush(stdout);
}

}  // namespace tapestry::bench
