#include "app/run/progress.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace tapestry::app {

void Progress::show(const std::string& run, const core::Timeline& timeline) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (run != run_) {
    run_ = run;
    begun_ = now;
  }
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  const double wall = std::chrono::duration<double>(now - begun_).count();
  const double simulated = static_cast<double>(core::nanos_since_start(timeline.now())) / 1e9;
  const double ratio = wall > 0 ? simulated / wall : 0;
  fmt::print(stderr, "\r\033[K{:<28.28} {:9.3f} s simulated, {:8.2f} s per second", run, simulated,
             ratio);
  std::fflush(stderr);
  on_screen_ = true;
}

void Progress::clear() {
  if (!on_screen_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  on_screen_ = false;
}

}  // namespace tapestry::app
