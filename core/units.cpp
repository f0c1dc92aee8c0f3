#include "core/units.hpp"

#include <array>
#include <optional>
#include <span>

namespace tapestry::core {

namespace {

// How one kind of quantity is written, and what to tell people who write it otherwise.
struct Kind {
  const char* expected;
  const char* smallest;
  std::uint64_t largest;
};

constexpr std::uint64_t kLargestSpan = static_cast<std::uint64_t>(kForever.count());
constexpr Kind kDuration{"a time with a unit, such as 50us, 1.5ms or 2s", "nanoseconds",
                         kLargestSpan};
constexpr Kind kSize{"a size with a unit, such as 1500B, 64kB or 64KiB", "bytes", ~0ull};
constexpr Kind kRate{"a rate with a unit, such as 10Gbit, 10Gbps or 1.25GB/s", "bits per second",
                     ~0ull};
constexpr Kind kPercent{"a percentage from 0% to 100%, such as 0.1%", "parts per billion",
                        1'000'000'000};

// A span, or a prefix: so many of the smallest unit.
struct Unit {
  std::string_view name;
  std::uint64_t scale;
};

constexpr std::uint64_t kKilo = 1000;
constexpr std::uint64_t kKibi = 1024;

constexpr std::array<Unit, 6> kDurationUnits{{
    {"ns", 1},
    {"us", kKilo},
    {"ms", kKilo* kKilo},
    {"s", kKilo* kKilo* kKilo},
    {"min", 60 * kKilo* kKilo* kKilo},
    {"h", 3600 * kKilo* kKilo* kKilo},
}};

constexpr std::array<Unit, 4> kBinaryUnits{{
    {"KiB", kKibi},
    {"MiB", kKibi* kKibi},
    {"GiB", kKibi* kKibi* kKibi},
    {"TiB", kKibi* kKibi* kKibi* kKibi},
}};

constexpr std::array<Unit, 5> kRateUnits{{
    {"bit", 1},
    {"kbit", kKilo},
    {"Mbit", kKilo* kKilo},
    {"Gbit", kKilo* kKilo* kKilo},
    {"Tbit", kKilo* kKilo* kKilo* kKilo},
}};

std::uint64_t power(std::uint64_t base, int exponent) {
  std::uint64_t result = 1;
  for (int i = 0; i < exponent; ++i)
    result *= base;
  return result;
}

// Takes k, M, Gi and the like off the front of a unit; 1 if there is none.
std::uint64_t take_prefix(std::string_view& unit) {
  if (unit.empty()) return 1;
  int exponent = 0;
  switch (unit.front()) {
    case 'k':
    case 'K':
      exponent = 1;
      break;
    case 'm':
    case 'M':
      exponent = 2;
      break;
    case 'g':
    case 'G':
      exponent = 3;
      break;
    case 't':
    case 'T':
      exponent = 4;
      break;
    default:
      return 1;
  }
  unit.remove_prefix(1);
  if (unit.empty() || unit.front() != 'i' || unit == "it") return power(kKilo, exponent);
  unit.remove_prefix(1);
  return power(kKibi, exponent);
}

std::optional<std::uint64_t> duration_unit(std::string_view unit) {
  for (const Unit& known : kDurationUnits) {
    if (unit == known.name) return known.scale;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> size_unit(std::string_view unit) {
  if (unit == "B") return 1;
  const std::uint64_t scale = take_prefix(unit);
  if (scale == 1 || (!unit.empty() && unit != "B")) return std::nullopt;
  return scale;
}

std::optional<std::uint64_t> rate_unit(std::string_view unit) {
  const std::uint64_t scale = take_prefix(unit);
  if (unit == "bit" || unit == "bps" || unit == "b/s" || unit == "bit/s") return scale;
  if (unit == "B/s") return 8 * scale;
  return std::nullopt;
}

std::optional<std::uint64_t> percent_unit(std::string_view unit) {
  if (unit == "%") return kPercent.largest / 100;
  return std::nullopt;
}

Error refuse(std::string_view text, std::string_view why, const Kind& kind) {
  std::string message = "\"";
  message.append(text).append("\" ").append(why).append("; expected ").append(kind.expected);
  return Error{std::move(message)};
}

// Digits with at most one point among them, as digits x 10^-decimals. Zeros at the end are left out
// of the fraction, so that 1.50s costs no more than 1.5s.
struct Decimal {
  Wide digits = 0;
  int decimals = 0;
  bool fits = true;
};

std::optional<Decimal> read_decimal(std::string_view number) {
  const std::size_t point = number.find('.');
  std::string_view whole = number.substr(0, point);
  std::string_view fraction;
  if (point != std::string_view::npos) {
    fraction = number.substr(point + 1);
    if (fraction.empty()) return std::nullopt;
  }
  if (whole.empty() || fraction.find('.') != std::string_view::npos) return std::nullopt;
  while (!fraction.empty() && fraction.back() == '0')
    fraction.remove_suffix(1);
  Decimal result;
  result.decimals = static_cast<int>(fraction.size());
  for (const std::string_view part : {whole, fraction}) {
    for (const char digit : part) {
      Wide next = 0;
      if (__builtin_mul_overflow(result.digits, Wide{10}, &next) ||
          __builtin_add_overflow(next, static_cast<Wide>(digit - '0'), &next)) {
        result.fits = false;
        return result;
      }
      result.digits = next;
    }
  }
  return result;
}

template <class UnitScale>
Result<std::uint64_t> parse(std::string_view text, const Kind& kind, UnitScale unit_scale) {
  const std::size_t number_end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, number_end);
  const std::string_view unit =
      number_end == std::string_view::npos ? std::string_view{} : text.substr(number_end);
  const std::optional<Decimal> decimal = read_decimal(number);
  if (!decimal) return refuse(text, "does not start with a number", kind);
  if (unit.empty()) return refuse(text, "has no unit", kind);
  const std::optional<std::uint64_t> scale = unit_scale(unit);
  if (!scale) return refuse(text, "has the unknown unit \"" + std::string(unit) + "\"", kind);

  const std::string too_fine = std::string("is not a whole number of ") + kind.smallest;
  Wide value = 0;
  if (!decimal->fits) return refuse(text, decimal->decimals == 0 ? "is too large" : too_fine, kind);
  if (__builtin_mul_overflow(decimal->digits, Wide{*scale}, &value)) {
    return refuse(text, "is too large", kind);
  }
  for (int i = 0; i < decimal->decimals; ++i) {
    if (value % 10 != 0) return refuse(text, too_fine, kind);
    value /= 10;
  }
  if (value > kind.largest) return refuse(text, "is too large", kind);
  return static_cast<std::uint64_t>(value);
}

// value / 10^decimals, without zeros at the end.
std::string format_decimal(std::uint64_t value, int decimals) {
  const std::uint64_t scale = power(10, decimals);
  std::string text = std::to_string(value / scale);
  std::string fraction = std::to_string(scale + value % scale).substr(1);
  while (!fraction.empty() && fraction.back() == '0')
    fraction.pop_back();
  if (decimals > 0 && !fraction.empty()) text += "." + fraction;
  return text;
}

// In the largest of the first `units`, each a thousand times the one before, that gives at least 1.
std::string format_by_thousands(std::uint64_t value, std::span<const Unit> units) {
  std::size_t chosen = 0;
  while (chosen + 1 < units.size() && value >= units[chosen + 1].scale)
    ++chosen;
  return format_decimal(value, 3 * static_cast<int>(chosen)) + std::string(units[chosen].name);
}

}  // namespace

Result<Nanos> parse_duration(std::string_view text) {
  const auto value = parse(text, kDuration, duration_unit);
  if (!value) return value.error();
  return Nanos{static_cast<std::int64_t>(*value)};
}

Result<Bytes> parse_size(std::string_view text) {
  const auto value = parse(text, kSize, size_unit);
  if (!value) return value.error();
  return Bytes{*value};
}

Result<BitRate> parse_rate(std::string_view text) {
  const auto value = parse(text, kRate, rate_unit);
  if (!value) return value.error();
  if (*value == 0) return refuse(text, "is no rate at all", kRate);
  return BitRate{*value};
}

Result<std::uint64_t> parse_percent(std::string_view text) {
  return parse(text, kPercent, percent_unit);
}

std::string format_duration(Nanos span) {
  constexpr std::size_t kThousands = 4;  // ns to s; minutes and hours are for reading only
  const bool negative = span < Nanos::zero();
  const auto count = static_cast<std::uint64_t>(span.count());
  const std::string text = format_by_thousands(negative ? 0 - count : count,
                                               std::span(kDurationUnits).first(kThousands));
  return negative ? std::string("-").append(text) : text;
}

std::string format_size(Bytes size) {
  const std::uint64_t count = size.count();
  for (std::size_t i = kBinaryUnits.size(); i-- > 0;) {
    const Unit& unit = kBinaryUnits[i];
    if (count != 0 && count % unit.scale == 0) {
      return std::to_string(count / unit.scale) + std::string(unit.name);
    }
  }
  return std::to_string(count) + "B";
}

std::string format_rate(BitRate rate) {
  return format_by_thousands(rate.bits_per_second(), kRateUnits);
}

std::string format_percent(std::uint64_t parts_per_billion) {
  return format_decimal(parts_per_billion, 7) + "%";
}

}  // namespace tapestry::core
