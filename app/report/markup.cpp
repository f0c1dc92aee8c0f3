#include "app/report/markup.hpp"

#include "core/assert.hpp"

namespace tapestry::app {

std::string escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

Markup& Markup::open(std::string_view tag, std::string_view attributes) {
  text_.append("<").append(tag);
  if (!attributes.empty()) text_.append(" ").append(attributes);
  text_ += '>';
  open_.emplace_back(tag);
  return *this;
}

Markup& Markup::close() {
  TAPESTRY_ASSERT(!open_.empty(), "what is closed was opened");
  text_.append("</").append(open_.back()).append(">\n");
  open_.pop_back();
  return *this;
}

Markup& Markup::text(std::string_view words) {
  text_ += escaped(words);
  return *this;
}

Markup& Markup::raw(std::string_view markup) {
  text_ += markup;
  return *this;
}

Markup& Markup::element(std::string_view tag, std::string_view words, std::string_view attributes) {
  return open(tag, attributes).text(words).close();
}

Markup& Markup::empty(std::string_view tag, std::string_view attributes) {
  text_.append("<").append(tag);
  if (!attributes.empty()) text_.append(" ").append(attributes);
  text_ += "/>\n";
  return *this;
}

std::string Markup::take() {
  TAPESTRY_ASSERT(open_.empty(), "what was opened is closed");
  return std::move(text_);
}

}  // namespace tapestry::app
