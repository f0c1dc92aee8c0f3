// Builds the tree from yaml-cpp's events. Events, not its nodes: nodes silently keep one of two
// equal keys and resolve aliases before anybody can count what they expand to.
#include "app/scenario/yaml_reader.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <array>
#include <exception>
#include <functional>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

namespace tapestry::app {
namespace {

// Leaves the parser; never leaves this file.
struct Refused {
  Diagnostic why;
};

[[noreturn]] void refuse(Position at, std::string text, std::string hint = {}) {
  throw Refused{{at, std::move(text), std::move(hint)}};
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& text, Diagnostics& diagnostics, Position base)
      : text_(text), diagnostics_(diagnostics), base_(base), last_read_(base) {}

  std::optional<Value> take_root() { return std::move(root_); }

  // A list or map in the place of a key. It counts only if the whole text can be read: a bracket
  // that is never closed looks like a key to yaml-cpp before it looks like anything else.
  const std::optional<Diagnostic>& bad_key() const { return bad_key_; }

  // Where the last event was, for faults that show only at the end of the text.
  Position last_read() const { return last_read_; }

  Position position(const YAML::Mark& mark) const {
    if (mark.line < 0) return base_;
    if (base_.source == Source::command_line) {
      return {base_.source, base_.line, base_.column + mark.pos};
    }
    const int column = mark.line == 0 ? base_.column + mark.column : mark.column + 1;
    return {base_.source, base_.line + mark.line, column};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      refuse(position(mark), "a second document begins here",
             "one scenario, one file: remove the '---'");
    }
  }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark&, const std::string&) override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::string_view word = null_word_at(mark);
    if (expects_key()) {
      if (word.empty()) refuse(position(mark), "a key is missing here");
      return accept_key(word, mark);
    }
    Value value;
    value.at = position(mark);
    if (!word.empty() && stands_in_its_container(mark)) {
      value.kind = Value::Kind::scalar;
      value.text = word;
    } else if (!frames_.empty()) {
      const Frame& frame = frames_.back();
      value.at = frame.value.is_map() ? frame.key_at : frame.value.at;
    }
    accept(std::move(value), anchor, count({1, word.size()}, position(mark)));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    check_tag(tag, mark);
    if (expects_key()) {
      if (tag != "!" && text == "<<") {
        refuse(position(mark), "the merge key '<<' is not supported",
               "write the keys out, or use variants for what differs");
      }
      return accept_key(text, mark);
    }
    if (text.size() > kLongestScalar) {
      refuse(position(mark), "a text of more than " + std::to_string(kLongestScalar) + " bytes");
    }
    Value value = Value::scalar(text, last_read_ = position(mark), {});
    value.quoted = tag == "!";
    accept(std::move(value), anchor, count({1, text.size()}, position(mark)));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) refuse(position(mark), "an alias cannot be a key");
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) refuse(position(mark), "this alias stands within what it names");
    const Size size = count(known->second.size, position(mark));
    accept(known->second.value, YAML::NullAnchor, size);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Value::Kind::list, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Value::Kind::map, mark, tag, anchor, style);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Size {
    std::size_t values = 0;
    std::size_t bytes = 0;
  };

  struct Frame {
    Value value;
    YAML::anchor_t anchor = YAML::NullAnchor;
    bool is_key = false;
    bool flow = false;
    int column = 0;  // where a block container's entries begin, from 0
    bool key_known = false;
    bool key_repeated = false;  // its value is read and forgotten
    std::string key;
    Position key_at;
    int key_pos = 0;
    std::map<std::string, int, std::less<>> key_lines;  // of the keys so far
    Size size{1, 0};                                    // itself and what is within
  };

  struct Anchored {
    Value value;
    Size size;
  };

  bool expects_key() const {
    return !frames_.empty() && frames_.back().value.is_map() && !frames_.back().key_known;
  }

  void check_tag(const std::string& tag, const YAML::Mark& mark) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(position(mark), "a tag (" + quote(tag) + ") is not supported",
           "each attribute knows its own type: remove the tag");
  }

  // yaml-cpp reports `null`, `~` and nothing at all in the same way; only the text tells them
  // apart.
  std::string_view null_word_at(const YAML::Mark& mark) const {
    static constexpr std::array<std::string_view, 4> kWords = {"null", "Null", "NULL", "~"};
    if (mark.pos < 0 || static_cast<std::size_t>(mark.pos) > text_.size()) return {};
    const std::string_view rest =
        std::string_view(text_).substr(static_cast<std::size_t>(mark.pos));
    for (const std::string_view word : kWords) {
      if (rest.substr(0, word.size()) == word) return word;
    }
    return {};
  }

  // The mark of a value that was left out is that of whatever comes next, which may be a key
  // `null`.
  bool stands_in_its_container(const YAML::Mark& mark) const {
    if (frames_.empty()) return true;
    const Frame& frame = frames_.back();
    if (frame.value.is_map() && mark.pos == frame.key_pos) return false;
    return frame.flow || mark.column > frame.column;
  }

  void accept_key(std::string_view text, const YAML::Mark& mark) {
    Frame& frame = frames_.back();
    if (text.size() > kLongestKey) {
      refuse(position(mark), "a key of more than " + std::to_string(kLongestKey) + " bytes");
    }
    frame.key = text;
    frame.key_at = last_read_ = position(mark);
    frame.key_pos = mark.pos;
    frame.key_known = true;
    const auto [first, is_new] = frame.key_lines.emplace(text, frame.key_at.line);
    frame.key_repeated = !is_new;
    if (is_new) return;
    diagnostics_.add(frame.key_at,
                     join_path(frame.value.path, text) + ": the key " + quote(text) +
                         " appears twice, in lines " + std::to_string(first->second) + " and " +
                         std::to_string(frame.key_at.line),
                     "keep one of them");
  }

  Size count(Size more, Position at) {
    total_.values += more.values;
    total_.bytes += more.bytes;
    if (total_.values > kMostValues) {
      refuse(at, "the scenario holds more than " + std::to_string(kMostValues) +
                     " values when its aliases are written out");
    }
    if (total_.bytes > kMostText) {
      refuse(at, "the scenario holds more than 1 MiB of text when its aliases are written out");
    }
    return more;
  }

  std::string path_of_next() const {
    if (frames_.empty()) return {};
    const Frame& frame = frames_.back();
    if (frame.value.is_map()) return join_path(frame.value.path, frame.key);
    return frame.value.path + "[" + std::to_string(frame.value.items.size()) + "]";
  }

  void open(Value::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    check_tag(tag, mark);
    const bool is_key = expects_key();
    if (is_key && !bad_key_) {
      bad_key_ = Diagnostic{position(mark), "a key must be plain text, not a list or a map", {}};
    }
    if (frames_.size() == kDeepestNesting) {
      refuse(position(mark), "nested more than " + std::to_string(kDeepestNesting) + " deep");
    }
    Frame frame;
    count(frame.size, position(mark));
    frame.value.kind = kind;
    frame.value.at = position(mark);
    frame.value.path = path_of_next();
    frame.anchor = anchor;
    frame.is_key = is_key;
    frame.flow = style == YAML::EmitterStyle::Flow;
    frame.column = mark.column;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.is_key) {
      frames_.back().key_known = frames_.back().key_repeated = true;
      return;
    }
    accept(std::move(frame.value), frame.anchor, frame.size);
  }

  // Puts a finished value where it belongs.
  void accept(Value value, YAML::anchor_t anchor, Size size) {
    move_to_path(value, path_of_next());
    if (anchor != YAML::NullAnchor) anchors_[anchor] = {value, size};
    if (frames_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    frame.size.values += size.values;
    frame.size.bytes += size.bytes;
    if (frame.value.is_list()) {
      frame.value.items.push_back(std::move(value));
      return;
    }
    frame.key_known = false;
    if (frame.key_repeated) return;
    frame.value.entries.push_back({std::move(frame.key), frame.key_at, std::move(value)});
  }

  const std::string& text_;
  Diagnostics& diagnostics_;
  Position base_;
  int documents_ = 0;
  Size total_;
  Position last_read_;
  std::optional<Diagnostic> bad_key_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::optional<Value> root_;
};

// What yaml-cpp says, in words that tell what to do.
Diagnostic explain(const YAML::ParserException& error, Position at, Position last_read) {
  struct Wording {
    std::string_view theirs, ours, hint;
  };
  static constexpr Wording kWordings[] = {
      {"illegal map value", "a ':' that belongs to no key",
       "check the indentation, or quote the text that contains it"},
      {"end of map not found", "this entry does not fit the map it stands in",
       "check the indentation"},
      {"end of sequence not found", "this entry does not fit the list it stands in",
       "check the indentation"},
      {"end of sequence flow not found", "a '[' is never closed", ""},
      {"end of map flow not found", "a '{' is never closed", ""},
      {"illegal document indicator in scalar",
       "a quote that opens after this place is never closed", ""},
      {"the referenced anchor is not defined", "this alias names no anchor", ""},
      {"illegal block entry", "a '-' where no list can begin", "check the indentation"},
      {"unknown token", "text cannot begin with this character", "quote the text"},
      {"bad file", "nested too deep", ""},
  };
  for (const Wording& wording : kWordings) {
    if (error.msg != wording.theirs) continue;
    Diagnostic diagnostic{at, std::string(wording.ours), std::string(wording.hint)};
    if (wording.ours.find("never closed") != std::string_view::npos) {
      diagnostic.at = last_read;  // yaml-cpp knows only where the text ends
    }
    return diagnostic;
  }
  return {at, "not valid YAML: " + error.msg, {}};
}

}  // namespace

std::optional<Value> read_yaml(const std::string& whole_text, Diagnostics& diagnostics,
                               Position base) {
  // At the end of the text yaml-cpp 0.7 takes an open quote for closed and an open bracket for a
  // key, and with it whatever it has swallowed. At the end of a document it notices.
  const std::string text =
      whole_text.substr(0, whole_text.find_last_not_of(" \n\t") + 1) + "\n...\n";
  TreeBuilder builder(text, diagnostics, base);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    if (!builder.bad_key()) return builder.take_root();
    diagnostics.add(*builder.bad_key());
  } catch (const Refused& refused) {
    diagnostics.add(refused.why);
  } catch (const YAML::ParserException& error) {
    diagnostics.add(explain(error, builder.position(error.mark), builder.last_read()));
  } catch (const std::exception& error) {
    diagnostics.add(base, std::string("cannot be read: ") + error.what());
  }
  return std::nullopt;
}

}  // namespace tapestry::app
