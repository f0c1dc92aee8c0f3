// Reno (RFC 5681), and what all algorithms share.
#include "net/tcp/congestion.hpp"

#include <algorithm>

#include "net/tcp/cubic.hpp"

namespace tapestry::net::tcp {

std::uint32_t Window::slow_start(std::uint32_t acked) {
  const std::uint32_t grown = std::min(size + acked, threshold);
  const std::uint32_t left = acked - (grown - size);
  size = std::min(grown, size_max);
  return left;
}

void Window::grow_by_one_for(std::uint32_t each, std::uint32_t acked) {
  each = std::max<std::uint32_t>(each, 1);
  // What was counted for a larger `each` is enough.
  if (counted >= each) {
    counted = 0;
    ++size;
  }
  counted += acked;
  if (counted >= each) {
    const std::uint32_t steps = counted / each;
    counted -= steps * each;
    size += steps;
  }
  size = std::min(size, size_max);
}

namespace {

class Reno final : public CongestionAlgorithm {
 public:
  std::string_view name() const override { return "reno"; }
  std::uint32_t threshold_after_loss(const Window& window) override {
    return std::max<std::uint32_t>(window.size / 2, 2);
  }
  void acknowledged(Window& window, const AckView& view) override {
    if (!view.window_limited) return;
    std::uint32_t acked = view.acked;
    if (window.in_slow_start()) acked = window.slow_start(acked);
    if (acked != 0) window.grow_by_one_for(window.size, acked);
  }
};

}  // namespace

std::unique_ptr<CongestionAlgorithm> make_algorithm(CongestionControl which, int hz) {
  if (which == CongestionControl::reno) return std::make_unique<Reno>();
  return std::make_unique<Cubic>(hz);
}

// Bit by bit from the top: the largest root of 64 bits has 22.
std::uint32_t cube_root(std::uint64_t value) {
  std::uint64_t root = 0;
  for (int bit = 21; bit >= 0; --bit) {
    const std::uint64_t tried = root | std::uint64_t{1} << bit;
    if (tried > 2'642'245) continue;  // its cube does not fit 64 bits
    if (tried * tried * tried <= value) root = tried;
  }
  return static_cast<std::uint32_t>(root);
}

}  // namespace tapestry::net::tcp
