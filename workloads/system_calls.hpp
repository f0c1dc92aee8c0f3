// System calls that touch no network: reads of /dev/zero and writes to /dev/null in turn, as dd
// makes them.
#pragma once

#include <cstdint>

#include "workloads/workload.hpp"

namespace tapestry::workloads {

struct SystemCallsOptions {
  std::size_t bytes = 1;  // of each read and each write
  int count = 1000;       // reads, and as many writes
};

class SystemCalls final : public Workload {
 public:
  SystemCalls(Place on, SystemCallsOptions options);

  void start(core::Instant origin) override;
  bool finished() const override { return started_ && attendance_.nobody(); }
  Outcome outcome() const override;

 private:
  void run();

  Place on_;
  SystemCallsOptions options_;
  std::uint64_t calls_ = 0;
  core::Nanos took_{0};
  Attendance attendance_;
  core::Instant origin_{};
  bool started_ = false;
};

}  // namespace tapestry::workloads
