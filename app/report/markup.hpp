// HTML and SVG as text: escaped, properly nested.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::app {

// For text and for attribute values between double quotes.
std::string escaped(std::string_view text);

// Grows a document from the outside in. Attributes are given as they stand in a tag, escaped by
// whoever gives them: open("rect", "width=\"3\"").
class Markup {
 public:
  Markup& open(std::string_view tag, std::string_view attributes = {});
  Markup& close();                       // the innermost
  Markup& text(std::string_view words);  // escaped
  Markup& raw(std::string_view markup);  // as it is
  Markup& element(std::string_view tag, std::string_view words, std::string_view attributes = {});
  Markup& empty(std::string_view tag, std::string_view attributes = {});  // <tag .../>, in SVG
  // The document so far; everything must be closed.
  std::string take();

 private:
  std::string text_;
  std::vector<std::string> open_;
};

}  // namespace tapestry::app
