// Many packets through one virtqueue, its sides taking turns at random.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "tests/host/virtqueue/queue_pair.hpp"

namespace tapestry::tests {

struct Flood {
  std::uint64_t sent = 0, received = 0, kicks = 0, interrupts = 0;
};

// A driver and a device that take turns at random; the device completes in random order. Both sleep
// unless they are told, so a notification that is lost ends the flood.
template <class Pair>
class FloodBench {
 public:
  FloodBench(std::size_t size, host::virtqueue::QueueOptions options, std::uint64_t seed)
      : pair_(size, options), random_(seed, "flood"), options_(options) {}

  Flood run(std::uint64_t packets) {
    pair_.driver.disable_callbacks();
    while (flood_.received < packets) {
      const bool driver_runs = driver_awake_ && flood_.sent < packets;
      if (!driver_runs && !device_awake_) {
        if (!driver_awake_) return flood_;  // both asleep, and packets left
        drain_driver();
        if (flood_.received >= packets) break;
        if (!sleep_driver()) continue;
        if (!device_awake_) return flood_;
      }
      if (driver_runs && (!device_awake_ || random_.uniform(2) == 0))
        drive(packets);
      else if (device_awake_)
        serve();
    }
    return flood_;
  }
  const Pair& pair() const { return pair_; }

 private:
  void drive(std::uint64_t packets) {
    drain_driver();
    const std::uint64_t burst = 1 + random_.uniform(8);
    for (std::uint64_t i = 0; i < burst && flood_.sent < packets; ++i) {
      if (!add_one()) {
        kick();
        sleep_driver();
        return;
      }
    }
    kick();
  }
  bool add_one() {
    std::vector<std::uint32_t> pieces(1 + random_.uniform(3), 20);
    if (!options_.indirect && pieces.size() > pair_.driver.size()) pieces.resize(1);
    if (!pair_.send(static_cast<std::uint32_t>(flood_.sent), pieces)) return false;
    ++flood_.sent;
    return true;
  }
  void kick() {
    if (!pair_.driver.kick_prepare()) return;
    ++flood_.kicks;
    device_awake_ = true;
  }
  bool sleep_driver() {
    const bool may = random_.uniform(2) == 0 ? pair_.driver.enable_callbacks()
                                             : pair_.driver.enable_callbacks_delayed();
    driver_awake_ = !may;
    if (!may) pair_.driver.disable_callbacks();
    return may;
  }
  void drain_driver() {
    while (pair_.take())
      ++flood_.received;
  }
  void serve() {
    pair_.device.disable_notifications();
    const std::uint64_t most = 1 + random_.uniform(8);
    for (std::uint64_t i = 0; i < most; ++i) {
      const auto chain = pair_.device.next();
      if (!chain) break;
      working_.push_back(*chain);
    }
    while (!working_.empty() && (pair_.device.drained() || random_.uniform(3) != 0)) {
      const std::size_t which = random_.uniform(working_.size());
      std::swap(working_[which], working_.back());
      pair_.device.use(working_.back(), 0);
      working_.pop_back();
    }
    pair_.device.publish();
    if (pair_.device.must_interrupt()) {
      ++flood_.interrupts;
      driver_awake_ = true;
    }
    if (pair_.device.drained() && pair_.device.enable_notifications()) device_awake_ = false;
  }

  Pair pair_;
  core::RandomStream random_;
  host::virtqueue::QueueOptions options_;
  Flood flood_;
  std::deque<host::virtqueue::DeviceSide::Chain> working_;
  bool driver_awake_ = true;
  bool device_awake_ = false;
};

}  // namespace tapestry::tests
