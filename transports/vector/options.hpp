// What the vector driver can be told, in the words of its command line
// (vec0:transport=...,depth=...,gro=...).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/time.hpp"

namespace tapestry::transports {

struct VectorOptions {
  enum class Behaviour : std::uint8_t {
    contract,  // keeps the NAPI contract and means what its settings say
    uml_6_1    // with the oddities of the driver in Linux 6.1
  };

  std::size_t depth = 64;  // messages per queue, 1 .. 1024 (UIO_MAXIOV)
  bool gro = false;        // receive buffers of 64 KiB, for frames that the host has merged
  bool vec = true;   // false: one packet per call in both directions, whatever the transport can do
  bool napi = true;  // false: as before Linux 5.18, receiving in the interrupt handler
  Behaviour behaviour = Behaviour::contract;
  std::uint64_t coalesce_jiffies =
      2;  // how long a promise of more may hold packets back, at least 1
};

}  // namespace tapestry::transports
