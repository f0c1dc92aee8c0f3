#include "core/ledger.hpp"

namespace tapestry::core {

namespace {

constexpr std::array<std::string_view, kOrigins> kOriginNames{
    "stack", "replay", "segmentation", "merging", "duplication", "host_copy", "live"};
constexpr std::array<std::string_view, kOutcomes> kOutcomeNames{"delivered", "consumed", "merged",
                                                                "segmented", "dropped"};

template <std::size_t N>
Tally sum(const std::array<Tally, N>& tallies) {
  Tally total;
  for (const Tally& tally : tallies)
    total += tally;
  return total;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string right(std::uint64_t number, std::size_t width) {
  std::string text = std::to_string(number);
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

void add_row(std::string& text, std::string_view name, const Tally& tally) {
  if (tally == Tally{}) return;
  text += padded(std::string(name), 44) + right(tally.packets, 14) + right(tally.bytes, 18) + "\n";
}

// How far apart two counts are, and which way.
std::string difference(std::uint64_t in, std::uint64_t out, const char* what) {
  if (in == out) return "";
  return in > out ? std::to_string(in - out) + " " + what + " vanished. "
                  : std::to_string(out - in) + " " + what + " came from nowhere. ";
}

std::string describe(const Balance& balance) {
  std::string text = padded("", 51) + "packets" + padded("", 13) + "bytes\n";
  for (std::size_t i = 0; i < kOrigins; ++i) {
    add_row(text, "created by " + std::string(kOriginNames[i]), balance.created[i]);
  }
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    if (static_cast<Outcome>(i) != Outcome::dropped)
      add_row(text, kOutcomeNames[i], balance.ended[i]);
  }
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    add_row(text, "dropped: " + std::string(name_of(static_cast<DropReason>(i))),
            balance.dropped[i]);
  }
  add_row(text, "truncated", balance.truncated);
  add_row(text, "in flight", balance.in_flight);
  const Tally created = balance.created_total();
  const Tally ended = balance.ended_total();
  text += balance.balanced
              ? "balanced\n"
              : "NOT BALANCED: " + difference(created.packets, ended.packets, "packets") +
                    difference(created.bytes, ended.bytes, "bytes") + "\n";
  return text;
}

}  // namespace

std::string_view name_of(Origin origin) { return kOriginNames[static_cast<std::size_t>(origin)]; }
std::string_view name_of(Outcome outcome) {
  return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

Tally Balance::created_total() const { return sum(created); }

Tally Balance::ended_total() const {
  Tally total = sum(ended);
  total += in_flight;
  total.bytes += truncated.bytes;  // a truncated packet goes on: only its lost bytes have ended
  return total;
}

Balance Ledger::close(Tally in_flight) const {
  Balance balance;
  balance.created = created_;
  balance.ended = ended_;
  balance.dropped = dropped_;
  balance.truncated = truncated_;
  balance.in_flight = in_flight;
  balance.balanced = balance.created_total() == balance.ended_total();
  balance.text = describe(balance);
  return balance;
}

}  // namespace tapestry::core
