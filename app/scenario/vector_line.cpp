// A small grammar: [ "vec" number ":" ] key "=" value { "," key "=" value }.
#include "app/scenario/vector_line.hpp"

#include <algorithm>
#include <charconv>

#include "app/scenario/names.hpp"
#include "app/scenario/value.hpp"

namespace tapestry::app {
namespace {

struct Fault {
  std::size_t offset;
  std::string error;
  std::string hint{};
};

const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys = {"transport", "ifname", "depth", "gro",
                                                "vec",       "mtu",    "mac"};
  return keys;
}

// What the driver knows beyond that: of other transports, or without effect on what is simulated.
bool is_key_of_uml(std::string_view key) {
  static constexpr std::string_view kKeys[] = {
      "headroom",   "bpffile",    "bpfflash", "dst",     "src",      "dstport",   "srcport",
      "v6",         "udp",        "cookie64", "counter", "pin",      "rx_cookie", "tx_cookie",
      "rx_session", "tx_session", "rx_key",   "tx_key",  "sequence", "bridge",    "fd"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

const std::vector<std::string>& known_transports() {
  static const std::vector<std::string> transports = {"tap", "hybrid", "raw"};
  return transports;
}

// Reads "vec3:" off the front, if the text begins like that; moves `begin` behind it.
std::optional<Fault> read_index(std::string_view text, std::size_t& begin,
                                std::optional<int>& index) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find('=') < colon) return std::nullopt;
  constexpr std::string_view kPrefix = "vec";
  if (text.substr(0, kPrefix.size()) != kPrefix) {
    return Fault{
        0, "the line begins with " + quote(text.substr(0, colon)) + ", not with vec and a number",
        "write vec0:transport=..."};
  }
  const std::string_view digits = text.substr(kPrefix.size(), colon - kPrefix.size());
  int number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size() && number >= 0;
  if (!whole || number > kHighestVectorIndex || (digits.size() > 1 && digits.front() == '0')) {
    return Fault{kPrefix.size(), "there is no vector device number " + quote(digits),
                 "vec0 to vec" + std::to_string(kHighestVectorIndex) + " exist"};
  }
  index = number;
  begin = colon + 1;
  if (begin == text.size()) {
    return Fault{begin, "no options after " + quote(text), "write vec0:transport=tap,ifname=tap0"};
  }
  return std::nullopt;
}

std::optional<Fault> check_value(const VectorOption& option) {
  const std::string& value = option.value;
  if (option.key == "transport") {
    const auto& known = known_transports();
    if (std::find(known.begin(), known.end(), value) != known.end()) return std::nullopt;
    return Fault{option.value_offset, "unknown transport " + quote(value), suggest(value, known)};
  }
  if ((option.key == "gro" || option.key == "vec") && value != "0" && value != "1") {
    return Fault{option.value_offset, option.key + " is 0 or 1, not " + quote(value)};
  }
  return std::nullopt;
}

// Reads one "key=value" that stands at `offset`.
std::optional<Fault> read_option(std::string_view pair, std::size_t offset, VectorLine& line) {
  const std::size_t equals = pair.find('=');
  const std::string_view key = pair.substr(0, equals);
  if (pair.empty()) return Fault{offset, "an option is missing between two commas or at the end"};
  if (key.empty()) return Fault{offset, "the key is missing before '='"};
  if (equals == std::string_view::npos) {
    return Fault{offset + pair.size(), quote(key) + " has no value",
                 "write " + quote(std::string(key) + "=...")};
  }
  VectorOption option{std::string(key), std::string(pair.substr(equals + 1)), offset,
                      offset + equals + 1};
  if (option.value.empty()) return Fault{option.value_offset, quote(key) + " has no value"};
  const std::size_t second = option.value.find('=');
  if (second != std::string::npos) {
    return Fault{option.value_offset + second, "a second '=' in " + quote(pair)};
  }
  const auto& known = known_keys();
  if (std::find(known.begin(), known.end(), key) == known.end()) {
    if (is_key_of_uml(key)) {
      return Fault{offset, "UML's option " + quote(key) + " is not simulated", suggest(key, known)};
    }
    return Fault{offset, "unknown option " + quote(key), suggest(key, known)};
  }
  const bool repeated = std::any_of(line.options.begin(), line.options.end(),
                                    [key](const VectorOption& other) { return other.key == key; });
  if (repeated) return Fault{offset, quote(key) + " stands twice in the line"};
  if (auto fault = check_value(option)) return fault;
  line.options.push_back(std::move(option));
  return std::nullopt;
}

std::optional<Fault> read_options(std::string_view text, std::size_t begin, VectorLine& line) {
  std::size_t count = 0;
  for (std::size_t at = begin; at <= text.size();) {
    if (++count > kMostVectorOptions) {
      return Fault{at, "more than " + std::to_string(kMostVectorOptions) + " options"};
    }
    at = std::min(text.find(',', at), text.size()) + 1;
  }
  for (std::size_t at = begin; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (auto fault = read_option(text.substr(at, end - at), at, line)) return fault;
    at = end + 1;
  }
  for (const std::string_view key : {"transport", "ifname"}) {
    const bool present =
        std::any_of(line.options.begin(), line.options.end(),
                    [key](const VectorOption& option) { return option.key == key; });
    if (!present) {
      return Fault{text.size(), quote(key) + " is missing", "write vec0:transport=tap,ifname=tap0"};
    }
  }
  return std::nullopt;
}

}  // namespace

ParsedVectorLine parse_vector_line(std::string_view text) {
  ParsedVectorLine parsed;
  VectorLine line;
  std::size_t begin = 0;
  std::optional<Fault> fault;
  if (text.empty()) fault = Fault{0, "the line is empty", "write vec0:transport=tap,ifname=tap0"};
  if (!fault) fault = read_index(text, begin, line.index);
  if (!fault) fault = read_options(text, begin, line);
  if (fault) {
    parsed.error = std::move(fault->error);
    parsed.hint = std::move(fault->hint);
    parsed.offset = fault->offset;
  } else {
    parsed.line = std::move(line);
  }
  return parsed;
}

}  // namespace tapestry::app
