// What happens in a world, told to whoever watches: contexts that begin and end, interrupts, polls,
// queues, charges. One probe for all of it (Timeline::on_happening), since watchers want them in
// their order; the life of packets has a probe of its own (Ledger::on_milestone).
//
// Who a happening is about is a number in the world's NameTable; so is the CPU that it happens on.
// Numbers are given in the order of construction, the same in every run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry::core {

// What each kind's subject and argument are. A pair of `begins` and `ends` nests on its CPU.
enum class Happening : std::uint8_t {
#define TAPESTRY_HAPPENING(identifier, name, about) identifier,
#include "core/happening.def"
#undef TAPESTRY_HAPPENING
  count_
};

inline constexpr std::size_t kHappenings = static_cast<std::size_t>(Happening::count_);
std::string_view name_of(Happening happening);
std::string_view about(Happening happening);  // one line: what its subject and argument are

// 0: nobody, or nobody known.
using SubjectId = std::uint16_t;

// Who is who. Subject 0 is nobody; when the numbers are used up the rest is nobody, too.
class NameTable {
 public:
  struct Entry {
    std::string machine;  // empty: of no machine
    std::string name;
  };

  SubjectId add(std::string_view machine, std::string_view name) {
    if (entries_.size() > kSubjectsMax) return 0;
    entries_.push_back({std::string(machine), std::string(name)});
    return static_cast<SubjectId>(entries_.size() - 1);
  }

  // A word that has no object: the same text has the same number.
  SubjectId intern(std::string_view text) {
    const auto found = words_.find(text);
    if (found != words_.end()) return found->second;
    const SubjectId id = add({}, text);
    words_.emplace(text, id);
    return id;
  }

  const Entry& operator[](SubjectId id) const { return entries_[id]; }
  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kSubjectsMax = 0xffff;

  std::vector<Entry> entries_ = std::vector<Entry>(1);
  std::map<std::string, SubjectId, std::less<>> words_;
};

// One happening as a watcher gets it. The instant is the one that the running context has worked
// up to: its debt counts as spent.
struct HappeningNote {
  std::int64_t at_ns;      // since the world's start
  std::uint64_t argument;  // see happening.def
  SubjectId subject;
  SubjectId cpu;  // whose code it is; 0: a device's
  Happening kind;
};

}  // namespace tapestry::core
