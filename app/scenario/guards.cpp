// One pass over the bytes, line by line.
#include "app/scenario/guards.hpp"

#include <utility>

namespace tapestry::app {
namespace {

std::optional<Diagnostic> refuse(int line, std::size_t column, std::string text, std::string hint) {
  return Diagnostic{
      {Source::file, line, static_cast<int>(column) + 1}, std::move(text), std::move(hint)};
}

bool starts_with(std::string_view bytes, std::string_view mark) {
  return bytes.substr(0, mark.size()) == mark;
}

// A mark of byte order, or an ASCII letter in every second byte, as every scenario in UTF-16 has
// it.
bool looks_like_utf16(std::string_view bytes) {
  if (starts_with(bytes, "\xff\xfe") || starts_with(bytes, "\xfe\xff")) return true;
  const std::string_view head = bytes.substr(0, 64);
  if (head.size() < 4) return false;
  std::size_t zeros[2] = {0, 0};
  for (std::size_t i = 0; i < head.size(); ++i)
    zeros[i % 2] += head[i] == '\0' ? 1 : 0;
  return zeros[0] + zeros[1] > head.size() / 3;
}

// The number of bytes of the UTF-8 character at the front of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  std::size_t length = 0;
  unsigned smallest = 0;
  unsigned character = 0;
  if ((byte(0) & 0xe0) == 0xc0) {
    length = 2, smallest = 0x80, character = byte(0) & 0x1fu;
  } else if ((byte(0) & 0xf0) == 0xe0) {
    length = 3, smallest = 0x800, character = byte(0) & 0x0fu;
  } else if ((byte(0) & 0xf8) == 0xf0) {
    length = 4, smallest = 0x10000, character = byte(0) & 0x07u;
  }
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  return character < smallest || character > 0x10ffff || surrogate ? 0 : length;
}

std::optional<Diagnostic> check_line(std::string_view line, int number) {
  const std::size_t indent = line.find_first_not_of(' ');
  if (indent != std::string_view::npos && line[indent] == '\t') {
    return refuse(number, indent, "a tab in the indentation",
                  "indent with spaces: YAML forbids tabs there");
  }
  for (std::size_t i = 0; i < line.size();) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (byte == '\r') {
      return refuse(number, i, "a carriage return within a line", "end lines with LF or CRLF");
    }
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
      return refuse(number, i, "a control character", "a scenario is plain text");
    }
    const std::size_t length = utf8_length(line.substr(i));
    if (length == 0) return refuse(number, i, "not valid UTF-8", "save the file as UTF-8");
    i += length;
  }
  return std::nullopt;
}

}  // namespace

GuardedText guard_text(std::string_view bytes) {
  GuardedText guarded;
  if (bytes.size() > kMostScenarioBytes) {
    guarded.refusal = refuse(1, 0, "the scenario is larger than 256 KiB",
                             "large data belongs in captures, repetition in variants");
    return guarded;
  }
  if (looks_like_utf16(bytes)) {
    guarded.refusal =
        refuse(1, 0, "the file is UTF-16 or UTF-32, not UTF-8", "save the file as UTF-8");
    return guarded;
  }
  if (starts_with(bytes, "\xef\xbb\xbf")) bytes.remove_prefix(3);

  guarded.text.reserve(bytes.size() + 1);
  int number = 1;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    guarded.refusal = check_line(line, number++);
    if (guarded.refusal) return guarded;
    guarded.text += line;
    guarded.text += '\n';
  }
  return guarded;
}

}  // namespace tapestry::app
