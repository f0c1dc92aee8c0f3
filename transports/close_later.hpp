// A device whose port has failed is taken down: not by the handler that found out, which may not
// wait, but by a thread of the kernel, soon (schedule_work and dev_close).
#pragma once

#include "net/device.hpp"
#include "net/stack.hpp"

namespace tapestry::transports {

inline void close_later(net::Device& device) {
  device.stack().scheduler().spawn({.name = "close/" + device.name(), .kernel_thread = true},
                                   [&device] { device.close(); });
}

}  // namespace tapestry::transports
