// Texts made to hurt: none may crash, hang or fill the memory, each ends with a pointed message.
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "app/scenario/loader.hpp"
#include "core/random.hpp"
#include "tests/app/scenario/scenario_text.hpp"

namespace tapestry::tests::hostile_test {

using namespace app;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string whole;
  for (int i = 0; i < times; ++i)
    whole += text;
  return whole;
}

std::string stairs(int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i)
    text += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  return text;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("nesting of any depth and kind is refused quickly", "[app][scenario]") {
  struct Row {
    const char* what;
    std::string text;
    const char* message;
  };
  const Row rows[] = {
      {"100,000 lists in a line", repeated("[", 100'000), "nested more than 32 deep"},
      {"60,000 maps in a line", repeated("{a: ", 60'000), "nested more than 32 deep"},
      {"100,000 lists in lines of their own", repeated("[\n", 100'000), "nested more than 32 deep"},
      {"lists and maps in turn", repeated("[{a: ", 50'000), "nested more than 32 deep"},
      {"lists by dashes", repeated("- ", 100'000), "nested more than 32 deep"},
      {"maps by question marks", repeated("? ", 100'000), "nested more than 32 deep"},
      {"700 steps of indentation", stairs(700), "nested more than 32 deep"},
      {"100,000 brackets in a value", small_scenario() + "x-deep: " + repeated("[", 100'000) + "\n",
       "nested more than 32 deep"},
      {"closing brackets alone", repeated("]", 100'000), "error"},
      {"tags on tags", repeated("!a ", 80'000), "error"},
      {"anchors on anchors", repeated("&a ", 80'000), "error"},
      {"colons on colons", repeated("a: ", 80'000), "a ':' that belongs to no key"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const auto begin = std::chrono::steady_clock::now();
    const LoadedScenario loaded = load(row.text);
    const auto spent = std::chrono::steady_clock::now() - begin;
    CHECK_FALSE(loaded.scenario.has_value());
    REQUIRE_FALSE(loaded.diagnostics.empty());
    CHECK(loaded.diagnostics.front().format("f").find(row.message) != std::string::npos);
    CHECK(spent <
          std::chrono::seconds(10));  // far above what it takes, for sanitizers on a busy machine
  }
}

TEST_CASE("sizes of any kind are refused", "[app][scenario]") {
  const std::string many_keys = [] {
    std::string text;
    for (int i = 0; i < 21'000; ++i)
      text += "x-" + std::to_string(i) + ":\n";
    return text;
  }();
  struct Row {
    const char* what;
    std::string text;
    const char* message;
  };
  const Row rows[] = {
      {"ten megabytes", std::string(10'000'000, 'a'), "larger than 256 KiB"},
      {"a long value", "title: " + std::string(100'000, 'a'), "a text of more than 8192 bytes"},
      {"a long key", std::string(1000, 'a') + ": 1", "a key of more than 100 bytes"},
      {"many items", "x-many: [" + repeated("1,", 30'000) + "]", "more than 20000 values"},
      {"many keys", many_keys, "more than 20000 values"},
      {"many aliases of a long text",
       "x-a: &a " + std::string(8000, 'a') + "\nx-b: [" + repeated("*a,", 1000) + "]",
       "more than 1 MiB of text"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const LoadedScenario loaded = load(row.text);
    REQUIRE_FALSE(loaded.diagnostics.empty());
    CHECK(loaded.diagnostics.front().text.find(row.message) != std::string::npos);
  }
}

TEST_CASE("long texts where quantities, names and expressions belong are refused in one line",
          "[app][scenario]") {
  const std::string long_text(8000, '9');
  const std::vector<std::string> overrides = {
      "devices.guest.vec0.depth=" + long_text,
      "devices.guest.vec0.coalesce=" + long_text + "ms",
      "devices.guest.vec0.transport=" + long_text,
      "devices.guest.vec0.attach=" + long_text,
      "devices.guest.vec0.address=" + long_text,
      "devices.guest.vec0.mac=" + long_text,
      "workloads.udp.rate=" + long_text + "bit",
      "workloads.udp.size=\"1\\n2B\"",
      "devices.guest.vec0={line: \"" + long_text + "\"}",
  };
  for (const std::string& override : overrides) {
    INFO(override.substr(0, 40));
    const LoadedScenario loaded = load(small_scenario(), {override});
    REQUIRE_FALSE(loaded.diagnostics.empty());
    for (const Diagnostic& diagnostic : loaded.diagnostics) {
      CHECK(diagnostic.text.size() < 400);
      CHECK(diagnostic.text.find('\n') == std::string::npos);
      CHECK(diagnostic.hint.size() < 600);
    }
  }
  const LoadedScenario nested =
      load(small_scenario() + "expect:\n  - that: " + repeated("(", 500) + "1\n");
  CHECK(said(nested).front().find("nested more than 50 deep") != std::string::npos);
}

TEST_CASE("at most twenty faults are shown, in the order of the file", "[app][scenario]") {
  std::string text = small_scenario();
  for (int i = 0; i < 100; ++i)
    text += "wrong" + std::to_string(i) + ": 1\n";
  const LoadedScenario loaded = load(text);
  REQUIRE(loaded.diagnostics.size() == 20);
  CHECK(loaded.diagnostics.front().at.line == 12);
  CHECK(loaded.diagnostics.back().at.line == 31);
}

TEST_CASE("shipped scenarios with random bytes changed never bring the loader down",
          "[app][scenario]") {
  core::RandomStream random(7, "mutations");
  static constexpr std::string_view kPieces = "{}[]:,-#&*!|>'\"%@`~ \n\t.0a\xff";
  for (const char* const name : {"packets-per-syscall.yaml", "uml-on-this-host.yaml"}) {
    const std::string good = contents(kRoot / "scenarios" / name);
    for (int round = 0; round < 150; ++round) {
      std::string text = good;
      for (std::uint64_t edits = 1 + random.uniform(4); edits > 0; --edits) {
        const std::size_t at = random.uniform(text.size());
        const char piece = kPieces[random.uniform(kPieces.size())];
        switch (random.uniform(3)) {
          case 0:
            text[at] = piece;
            break;
          case 1:
            text.insert(at, 1 + random.uniform(3), piece);
            break;
          default:
            text.erase(at, 1 + random.uniform(30));
            break;
        }
      }
      const LoadedScenario loaded = load(text);
      CHECK(loaded.scenario.has_value() == loaded.diagnostics.empty());
    }
  }
}

}  // namespace tapestry::tests::hostile_test
