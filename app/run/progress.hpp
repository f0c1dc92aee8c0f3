// The progress line on standard error: which run, how far, how fast.
#pragma once

#include <chrono>
#include <string>

#include "core/timeline.hpp"

namespace tapestry::app {

class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown) {}
  ~Progress() { clear(); }

  // At most ten times a second of wall time.
  void show(const std::string& run, const core::Timeline& timeline);
  void clear();

 private:
  bool shown_;
  bool on_screen_ = false;
  std::string run_;
  std::chrono::steady_clock::time_point begun_{};
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace tapestry::app
