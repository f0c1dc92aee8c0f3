// The tests that tests/README.md names are there.
#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/program.hpp"

namespace tapestry::tests::cases_test {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
constexpr bool kAddressSanitizer = false;
#endif

std::set<std::string> names_of_tests() {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen(("'" + self + "' --list-test-names-only").c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr)
    text += part.data();
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '-') names.insert(line);
  return names;
}

TEST_CASE("every test that the table of faults names is there", "[style]") {
  const std::set<std::string> names = names_of_tests();
  std::istringstream lines(read_text(std::string(TAPESTRY_SOURCE_ROOT) + "/tests/README.md"));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_row = line.size() > 2 && line[0] == '|' && line[2] >= 'A' && line[2] <= 'Z';
    if (!is_row || (!kAddressSanitizer && line.rfind("| B3", 0) == 0)) continue;
    ++rows;
    const std::size_t end = line.rfind(" |");
    const std::size_t begin = line.rfind("| ", end - 1) + 2;
    const std::string name = line.substr(begin, end - begin);
    INFO(name);
    CHECK(names.contains(name));
  }
  CHECK(rows > 50);
}

}  // namespace
}  // namespace tapestry::tests::cases_test
