// What a driver is built on: the parts of its machine that it may use, and nothing that costs or
// keeps time.
#pragma once

#include "irq/controller.hpp"
#include "irq/jiffy_timer.hpp"
#include "irq/napi.hpp"
#include "irq/tasklet.hpp"
#include "net/device.hpp"
#include "net/stack.hpp"
#include "net/tx_queue.hpp"

namespace tapestry::transports {

struct DriverEnvironment {
  net::Device& device;
  net::Allocator& allocator;
  irq::InterruptController& interrupts;
  irq::NapiCore& napi;
  irq::Tasklets& tasklets;
  irq::JiffyTimers& jiffies;
};

}  // namespace tapestry::transports
