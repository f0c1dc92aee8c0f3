// A device register that a driver writes to say "there is more": the value is the new tail of a
// ring. The device acts on the last value written, never on the ring's memory alone.
#pragma once

#include <cstdint>

namespace tapestry::host {

class Doorbell {
 public:
  virtual ~Doorbell() = default;
  virtual void ring(std::uint32_t value) = 0;
};

}  // namespace tapestry::host
