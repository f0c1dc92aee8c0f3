// The manual page and the completions know what the program says of itself.
#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <string>

#include "tests/support/program.hpp"

namespace tapestry::tests::manual_test {

using Catch::Matchers::Contains;

namespace {

const std::string kRoot = TAPESTRY_SOURCE_ROOT;

// The words of --help that a pattern's first group finds at the beginnings of lines behind a
// heading.
std::set<std::string> words_of(const std::string& help, const std::string& heading,
                               const std::string& pattern) {
  std::set<std::string> words;
  const std::string part = help.substr(help.find(heading));
  const std::regex line("\n  " + pattern);
  for (std::sregex_iterator found(part.begin(), part.end(), line), end; found != end; ++found)
    words.insert((*found)[1]);
  return words;
}

// As it stands in the source of a manual page, where a hyphen that is typed is not one that is set.
std::string roff(const std::string& text) {
  return std::regex_replace(text, std::regex("-"), "\\-");
}

// A long option stands behind its short one, if it has any.
std::set<std::string> options_of(const std::string& command) {
  return words_of(tapestry({command, "--help"}).out, "Options:", "(?:-[a-z],)?--([a-z-]+)");
}

// What bash offers for the last of these words.
std::string completed(const std::string& words) {
  const std::string script =
      "export PATH=" + (std::filesystem::read_symlink("/proc/self/exe").parent_path()).string() +
      ":$PATH; cd " + kRoot + "; source docs/shell/tapestry.bash; COMP_WORDS=(tapestry " + words +
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tapestry tapestry \"${COMP_WORDS[-1]}\" "
      "\"${COMP_WORDS[-2]}\"; echo \"${COMPREPLY[@]}\"";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> shell(
      popen(("exec bash -c '" + script + "' 2>&1").c_str(), "r"), &pclose);
  REQUIRE(shell);
  std::string out;
  std::array<char, 512> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), shell.get()) != nullptr)
    out += part.data();
  return out;
}

TEST_CASE("the manual page has every command, every option of run and every exit code", "[cli]") {
  const std::string page = read_text(kRoot + "/docs/tapestry.1");
  const auto commands = words_of(tapestry({"--help"}).out, "Subcommands:", "([a-z-]+) ");
  CHECK(commands.size() >= 6);
  for (const std::string& command : commands)
    CHECK_THAT(page, Contains("\n.B " + command + "\n"));
  const auto options = options_of("run");
  CHECK(options.size() >= 12);
  for (const std::string& option : options)
    if (option != "help") CHECK_THAT(page, Contains(roff("--" + option)));
  for (const char* code : {"0", "1", "2", "3", "4", "124", "130"})
    CHECK_THAT(page, Contains(std::string("\n.B ") + code + "\n"));
}

TEST_CASE("bash completes commands, options, and the words that an option takes", "[cli]") {
  struct Row {
    const char* words;
    const char* offered;
  };
  const Row rows[] = {{"\"\"", "run verify check reference lesson"},
                      {"ve", "verify\n"},
                      {"run --se", "--set --seed --settle\n"},
                      {"run --settle \"\"", "always seams random\n"},
                      {"list m", "metrics\n"},
                      {"run READ", "README.md\n"}};
  for (const Row& row : rows) {
    CAPTURE(row.words);
    CHECK_THAT(completed(row.words), Contains(row.offered));
  }
}

}  // namespace
}  // namespace tapestry::tests::manual_test
