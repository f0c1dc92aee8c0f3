#include "core/fingerprint.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/bytes.hpp"

namespace tapestry::core {

struct Fingerprint::State {
  XXH3_state_t hash;
};

Fingerprint::Fingerprint() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->hash);
}
Fingerprint::~Fingerprint() = default;
Fingerprint::Fingerprint(Fingerprint&&) noexcept = default;
Fingerprint& Fingerprint::operator=(Fingerprint&&) noexcept = default;

void Fingerprint::add(std::uint64_t number) {
  const std::uint64_t little = little_endian(number);
  XXH3_128bits_update(&state_->hash, &little, sizeof little);
}

void Fingerprint::add(std::string_view text) {
  add(std::uint64_t{text.size()});
  XXH3_128bits_update(&state_->hash, text.data(), text.size());
}

std::string Fingerprint::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->hash));
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace tapestry::core
