// Where captured frames go: a file with one or more points at which frames were seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/packet.hpp"
#include "core/time.hpp"

namespace tapestry::observe {

class CaptureFile {
 public:
  static constexpr std::uint32_t kWholeFrames = 262'144;  // the snap length that cuts nothing

  // What is known of a frame beside its bytes. A format that has no room for it leaves it out.
  struct Notes {
    core::Direction direction = core::Direction::unknown;
    std::uint64_t id = 0;                // joins the records of one packet at several points
    std::optional<std::uint32_t> queue;  // transmit or receive queue of the device
    std::string_view comment{};
  };

  virtual ~CaptureFile() = default;

  // `length`: of the frame, of which `bytes` are the first min(length, the point's snap length).
  virtual void write(std::size_t point, core::Instant at, std::span<const std::uint8_t> bytes,
                     std::size_t length, const Notes& notes) = 0;

  // Empty if every record reached the file. Nothing is written after it.
  virtual std::string close() = 0;
};

}  // namespace tapestry::observe
