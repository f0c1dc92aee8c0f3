// Watchers: told while they are attached, in the order in which they came, free to leave at any
// moment.

#include "core/probe.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

namespace tapestry::tests::probe_test {

namespace {

using core::Probe;
using core::ProbeHandle;

}  // namespace

TEST_CASE("nobody hears a probe that nobody watches", "[core][probe]") {
  Probe<int> probe;
  CHECK_FALSE(probe.watched());
  probe(1);
}

TEST_CASE("watchers are told in the order in which they came, until they leave", "[core][probe]") {
  Probe<int> probe;
  std::string heard;
  ProbeHandle first = probe.watch([&](int n) { heard += "a" + std::to_string(n) + " "; });
  {
    const ProbeHandle second = probe.watch([&](int n) { heard += "b" + std::to_string(n) + " "; });
    probe(1);
  }
  probe(2);
  first.detach();
  probe(3);
  CHECK(heard == "a1 b1 a2 ");
  CHECK_FALSE(probe.watched());
}

TEST_CASE("a moved handle still holds its watcher", "[core][probe]") {
  Probe<> probe;
  int heard = 0;
  ProbeHandle outer;
  {
    ProbeHandle inner = probe.watch([&] { ++heard; });
    outer = std::move(inner);
  }
  probe();
  CHECK(heard == 1);
  outer = ProbeHandle();
  probe();
  CHECK(heard == 1);
}

TEST_CASE("a watcher may leave while it is told, and take another with it", "[core][probe]") {
  Probe<> probe;
  std::string heard;
  ProbeHandle first;
  ProbeHandle second;
  ProbeHandle third;
  first = probe.watch([&] {
    heard += "a";
    first.detach();
    second.detach();
  });
  second = probe.watch([&] { heard += "b"; });
  third = probe.watch([&] { heard += "c"; });
  probe();
  probe();
  CHECK(heard == "acc");
}

TEST_CASE("a watcher that comes while others are told waits for the next time", "[core][probe]") {
  Probe<> probe;
  std::string heard;
  ProbeHandle late;
  const ProbeHandle early = probe.watch([&] {
    heard += "a";
    if (heard == "a") late = probe.watch([&] { heard += "b"; });
  });
  probe();
  CHECK(heard == "a");
  probe();
  CHECK(heard == "aab");
}

TEST_CASE("a probe may be told again from within, and left there", "[core][probe]") {
  Probe<int> probe;
  std::string heard;
  ProbeHandle watcher;
  watcher = probe.watch([&](int depth) {
    heard += std::to_string(depth);
    if (depth == 2) watcher.detach();
    if (depth < 3) probe(depth + 1);
  });
  probe(0);
  CHECK(heard == "012");
  CHECK_FALSE(probe.watched());
}

TEST_CASE("a handle outlives its probe without harm", "[core][probe]") {
  auto probe = std::make_unique<Probe<>>();
  ProbeHandle watcher = probe->watch([] {});
  probe.reset();
  CHECK_NOTHROW(watcher.detach());
}

}  // namespace tapestry::tests::probe_test
