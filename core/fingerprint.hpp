// One number for everything that a run produced.
//
// Two runs are the same when their fingerprints are: results, bytes of each flow, drops and final
// counters go in, in one order. A 128-bit XXH3 over a byte stream that has one reading: integers as
// eight little-endian bytes, strings with their length in front.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/time.hpp"

namespace tapestry::core {

class Fingerprint {
 public:
  Fingerprint();
  ~Fingerprint();
  Fingerprint(Fingerprint&&) noexcept;
  Fingerprint& operator=(Fingerprint&&) noexcept;

  void add(std::uint64_t number);
  void add(std::int64_t number) { add(static_cast<std::uint64_t>(number)); }
  void add(std::uint32_t number) { add(std::uint64_t{number}); }
  void add(std::int32_t number) { add(std::int64_t{number}); }
  void add(Instant at) { add(nanos_since_start(at)); }
  void add(Nanos span) { add(span.count()); }
  void add(std::string_view text);
  void add(const char* text) { add(std::string_view(text)); }

  // 32 hexadecimal digits of all that was added so far. More may be added afterwards.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapestry::core
