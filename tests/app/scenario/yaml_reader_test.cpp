// From text to tree: what is kept of YAML, and what is refused by name.
#include "app/scenario/yaml_reader.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace tapestry::tests::yaml_reader_test {

using namespace app;

namespace {

// The tree as text: "{a: 'x', b: ['y', nothing]}".
std::string shown(const Value& value) {
  std::string text;
  if (value.is_map()) {
    for (const Value::Entry& entry : value.entries) {
      text += (text.empty() ? "" : ", ") + entry.key + ": " + shown(entry.value);
    }
    return "{" + text + "}";
  }
  if (value.is_list()) {
    for (const Value& item : value.items)
      text += (text.empty() ? "" : ", ") + shown(item);
    return "[" + text + "]";
  }
  return describe(value);
}

std::string tree_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto tree = read_yaml(text, diagnostics);
  if (!diagnostics.empty()) return diagnostics.sorted().front().format("f");
  return tree ? shown(*tree) : "no tree";
}

}  // namespace

TEST_CASE("scalars stay the text that was written", "[app][scenario]") {
  CHECK(tree_of("[no, on, yes, off, null, ~, 1.10, 007, 1e3, true, 0x10]") ==
        "['no', 'on', 'yes', 'off', 'null', '~', '1.10', '007', '1e3', 'true', '0x10']");
  CHECK(tree_of("no: 1\non: 2\nnull: 3\n1.10: 4\n") == "{no: '1', on: '2', null: '3', 1.10: '4'}");
  CHECK(tree_of("a: 'it''s'\nb: \"\\u00e9\"\nc: |\n  x\n  y\nd: >\n  x\n  y\n") ==
        "{a: 'it's', b: '\xc3\xa9', c: 'x\\ny\\n', d: 'x y\\n'}");
}

TEST_CASE("a value that is not written is nothing, whatever stands behind it", "[app][scenario]") {
  CHECK(tree_of("a:\nnull: 1") == "{a: nothing, null: '1'}");
  CHECK(tree_of("a:\n  null\nb: 1") == "{a: 'null', b: '1'}");
  CHECK(tree_of("{a: , null: 1}") == "{a: nothing, null: '1'}");
  CHECK(tree_of("{null, a: null}") == "{null: nothing, a: 'null'}");
  CHECK(tree_of("a:\n  -\n  - null\n  -\nnull: 2") == "{a: [nothing, 'null', nothing], null: '2'}");
  CHECK(tree_of("a: ''") == "{a: ''}");
  CHECK(tree_of("") == "nothing");
  CHECK(tree_of("# only a comment\n") == "nothing");
}

TEST_CASE("anchors and aliases work while they stay small", "[app][scenario]") {
  CHECK(tree_of("a: &x {b: [1, 2]}\nc: *x\nd: *x") ==
        "{a: {b: ['1', '2']}, c: {b: ['1', '2']}, d: {b: ['1', '2']}}");
  CHECK(tree_of("a: &x [*x]") == "f:1:8: error: this alias stands within what it names");
  CHECK(tree_of("a: *x") == "f:1:4: error: this alias names no anchor");
}

TEST_CASE("an alias is reached by its own path and reported at the text it repeats",
          "[app][scenario]") {
  Diagnostics diagnostics;
  const auto tree = read_yaml("a: &x {b: 1}\nc: [*x]\n", diagnostics);
  REQUIRE(tree);
  const Value& repeated = tree->find("c")->value.items.front().find("b")->value;
  CHECK(repeated.path == "c[0].b");
  CHECK(repeated.at == Position{Source::file, 1, 11});
}

TEST_CASE("every value knows its path and place", "[app][scenario]") {
  Diagnostics diagnostics;
  const auto tree =
      read_yaml("devices:\n  guest.vec0: {depth: 64}\nexpect:\n  - that: x\n", diagnostics);
  REQUIRE(tree);
  const Value& depth = tree->find("devices")->value.find("guest.vec0")->value.find("depth")->value;
  CHECK(depth.path == "devices.guest.vec0.depth");
  CHECK(depth.at == Position{Source::file, 2, 23});
  CHECK(tree->find("expect")->value.items[0].find("that")->value.path == "expect[0].that");
}

TEST_CASE("equal keys are refused at every level and in every spelling, with both lines",
          "[app][scenario]") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"mtu: 1500\nx: 1\nmtu: 9000\n",
       "f:3:1: error: mtu: the key 'mtu' appears twice, in lines 1 and 3"},
      {"a: 1\n'a': 2\n", "f:2:1: error: a: the key 'a' appears twice, in lines 1 and 2"},
      {"\"a\": 1\na: 2\n", "f:2:1: error: a: the key 'a' appears twice, in lines 1 and 2"},
      {"\"\\x61\": 1\na: 2\n", "f:2:1: error: a: the key 'a' appears twice, in lines 1 and 2"},
      {"x: {y: [{a: 1,\n a: 2}]}\n",
       "f:2:2: error: x.y[0].a: the key 'a' appears twice, in lines 1 and 2"},
      {"links:\n  a: 1\nlinks:\n  b: 2\n",
       "f:3:1: error: links: the key 'links' appears twice, in lines 1 and 3"},
      {"null: 1\n'null': 2\n",
       "f:2:1: error: null: the key 'null' appears twice, in lines 1 and 2"},
  };
  for (const auto& [text, message] : rows) {
    CHECK(tree_of(text).substr(0, message.size()) == message);
  }
}

TEST_CASE("several equal keys are all reported", "[app][scenario]") {
  Diagnostics diagnostics;
  read_yaml("a: 1\na: 2\nb: 1\nb: 2\na: 3\n", diagnostics);
  CHECK(diagnostics.size() == 3);
}

TEST_CASE("what scenarios do not need of YAML is refused by name", "[app][scenario]") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a: 1\n---\nb: 2\n", "f:2:1: error: a second document begins here"},
      {"a: !!str 1", "f:1:4: error: a tag ('tag:yaml.org,2002:str') is not supported"},
      {"a: !point {x: 1}", "f:1:4: error: a tag ('!point') is not supported"},
      {"a: &x {b: 1}\nc: {<<: *x}", "f:2:5: error: the merge key '<<' is not supported"},
      {"? [a, b]\n: 1", "f:1:3: error: a key must be plain text, not a list or a map"},
      {"{a: 1}: 1", "f:1:1: error: a key must be plain text, not a list or a map"},
      {"a: &x b\n*x : 1", "f:2:1: error: an alias cannot be a key"},
      {": 1", "f:1:1: error: a key is missing here"},
      {"a: \"no end\nb: 1\n", "f:1:1: error: a quote that opens after this place is never closed"},
      {"a: 'no end\n\n", "f:1:1: error: a quote that opens after this place is never closed"},
      {"a: [1, 2\n", "f:1:8: error: a '[' is never closed"},
      {"a: b: c", "f:1:5: error: a ':' that belongs to no key"},
      {"a: @b", "f:1:4: error: text cannot begin with this character"},
  };
  for (const auto& [text, message] : rows) {
    CHECK(tree_of(text).substr(0, message.size()) == message);
  }
  CHECK(tree_of("'<<': 1") ==
        "{<<: '1'}");  // a quoted key is only a name, to be refused as unknown
}

TEST_CASE("a value of the command line is placed in its argument", "[app][scenario]") {
  Diagnostics diagnostics;
  const auto tree = read_yaml("[1, {a: 2}]", diagnostics, {Source::command_line, 3, 10});
  REQUIRE(tree);
  CHECK(to_string(tree->items[1].find("a")->value.at, "f") == "--set:3:18");
}

}  // namespace tapestry::tests::yaml_reader_test
