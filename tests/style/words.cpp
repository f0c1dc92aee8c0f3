// Words that do not belong in the code, each with what to write in their place.

#include <algorithm>
#include <cctype>

#include "tests/style/rules.hpp"

namespace tapestry::tests {

namespace {

// A word is found where it stands alone; with '*' in front or behind, also as the end or the start
// of a longer one. "rand(" is a call, because clang-format puts nothing before the parenthesis.
struct Ban {
  std::string rule;
  std::vector<std::string> words;
  std::string instead;                    // what to write in their place
  std::vector<std::string> inside = {};   // only below these folders; none: everywhere
  std::vector<std::string> outside = {};  // but not below these
};

// Where virtual time rules, and where the world is real.
const std::vector<std::string> kSimulation = {
    "core/",     "sched/",          "irq/",        "net/",      "kernel/",
    "host/sim/", "host/virtqueue/", "transports/", "workloads/"};
const std::vector<std::string> kReal = {"app/", "host/live/", "tests/"};

// Where a result is decided, but for the tables and distributions of core and sched.
const std::vector<std::string> kDecisions = {
    "irq/", "net/", "kernel/", "host/sim/", "host/virtqueue/", "transports/"};
const std::vector<std::string> kDrivers = {"transports/"};

const std::vector<Ban> kBans = {
    {.rule = "wall-clock",
     .words = {"steady_clock", "system_clock", "high_resolution_clock", "clock_gettime",
               "gettimeofday", "time_t"},
     .instead = "virtual time: core::Instant, from the world's timeline",
     .outside = kReal},
    {.rule = "randomness",
     .words = {"rand(", "srand(", "drand48(", "*_distribution", "random_device", "mt19937*",
               "default_random_engine"},
     .instead = "a named stream of core/random.hpp: the same numbers from every library",
     .outside = {"tests/bench/"}},
    {.rule = "unordered",
     .words = {"unordered_*"},
     .instead = "std::map, a sorted vector or an array: the order of hashes is nobody's promise"},
    {.rule = "hash",
     .words = {"std::hash"},
     .instead = "core/fingerprint.hpp: std::hash differs between libraries"},
    {.rule = "thread-local",
     .words = {"thread_local"},
     .instead = "a member of what owns it: two worlds fit in one process"},
    {.rule = "real-threads",
     .words = {"std::thread", "std::jthread", "*mutex", "std::atomic*", "std::condition_variable*",
               "std::this_thread"},
     .instead = "sched::Fiber, sched::WaitQueue: one real thread runs a world",
     .inside = kSimulation},
    {.rule = "floating-point",
     .words = {"float", "double"},
     .instead = "whole numbers: rounding must not decide anything",
     .inside = kDecisions},
    {.rule = "using-namespace",
     .words = {"using namespace std;"},
     .instead = "std:: where it is used"},
    {.rule = "assert",
     .words = {"assert("},
     .instead = "TAPESTRY_ASSERT, which is on in every build"},
    {.rule = "print",
     .words = {"std::cout", "std::cerr", "std::clog", "printf(", "fprintf(", "puts(", "fputs("},
     .instead = "a returned value or a probe: only the command line prints",
     .outside = {"app/", "tests/"}},
    {.rule = "environment",
     .words = {"getenv(", "setlocale(", "std::locale"},
     .instead = "an option of the scenario: nothing from outside leaks into a run",
     .outside = kReal},
    {.rule = "driver-cost",
     .words = {"CostTable", "charge*", "settle*", "spin_until"},
     .instead = "nothing: ports, framework and allocator charge for a driver",
     .inside = kDrivers},
    {.rule = "driver-clock",
     .words = {"now(", "Instant", "sched::Timer"},
     .instead = "a timer or a deadline of the framework: a driver has no clock",
     .inside = kDrivers},
    {.rule = "driver-descriptor",
     .words = {"fd", "fds", "file_descriptor*"},
     .instead = "host::PacketIo and host::Doorbell: a driver has no descriptor",
     .inside = kDrivers},
    {.rule = "driver-lock",
     .words = {"*mutex", "spin_lock*", "SpinLock", "*lock_guard", "*unique_lock"},
     .instead = "nothing: the framework holds a driver's locks",
     .inside = kDrivers},
};

bool below(const std::vector<std::string>& folders, const std::string& path) {
  return std::ranges::any_of(folders, [&](const auto& folder) { return path.starts_with(folder); });
}

// The line of each place where the word stands.
std::vector<int> lines_with(std::string_view word, std::string_view text) {
  const bool open_front = word.starts_with('*');
  const bool open_back = word.ends_with('*');
  if (open_front) word.remove_prefix(1);
  if (open_back) word.remove_suffix(1);
  std::vector<int> lines;
  int line = 1;
  std::size_t counted = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool alone_in_front = at == 0 || !is_word(text[at - 1]) || !is_word(word.front());
    const bool alone_behind = end == text.size() || !is_word(text[end]) || !is_word(word.back());
    if (!(open_front || alone_in_front) || !(open_back || alone_behind)) continue;
    const std::string_view between = text.substr(counted, at - counted);
    line += static_cast<int>(std::ranges::count(between, '\n'));
    counted = at;
    lines.push_back(line);
  }
  return lines;
}

void apply(const Ban& ban, const std::string& path, std::string_view text, Findings& findings) {
  if (!ban.inside.empty() && !below(ban.inside, path)) return;
  if (below(ban.outside, path)) return;
  for (const std::string& word : ban.words) {
    for (int line : lines_with(word, text)) {
      findings.push_back(
          {ban.rule, path,
           path + ":" + std::to_string(line) + ": \"" + word + "\": write " + ban.instead});
    }
  }
}

// These two look at the whole text: at comments, and at directives.
const Ban kUnfinished = {.rule = "unfinished",
                         .words = {"TODO", "FIXME", "XXX", "HACK", "for now", "For now"},
                         .instead = "the finished thing",
                         .outside = {"tests/style/"}};  // which has to name them
const Ban kConditional = {.rule = "driver-conditional",
                          .words = {"#if*"},
                          .instead = "plain code: one driver, two worlds",
                          .inside = kDrivers};

}  // namespace

Findings check_words(const Source& source) {
  Findings findings;
  for (const Ban& ban : kBans)
    apply(ban, source.path, source.code, findings);
  apply(kUnfinished, source.path, source.text, findings);
  apply(kConditional, source.path, source.text, findings);
  return findings;
}

}  // namespace tapestry::tests
