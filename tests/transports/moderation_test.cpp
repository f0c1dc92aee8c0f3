// Adaptive interrupt moderation: what each class of traffic makes of the present time.
#include "transports/nic/moderation.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace tapestry::tests::moderation_test {
namespace {

using transports::Moderation;

// After the first tick, of which nothing is concluded, at the time that it begins with: 10 us.
Moderation started() {
  Moderation moderation;
  moderation.update(100);
  return moderation;
}

TEST_CASE("It begins with 20,000 interrupts a second, and after silence with as many as it may") {
  Moderation moderation;
  CHECK(moderation.usecs() == 50);
  moderation.received(200, 200 * 1514);
  CHECK(moderation.update(100));
  CHECK(moderation.usecs() == 10);
  moderation.received(60, 60 * 1514);
  moderation.update(101);  // within the next tick: that counts
  moderation.received(60, 60 * 1514);
  moderation.update(103);  // and this does not
  CHECK(moderation.usecs() == 10);
}

TEST_CASE("The class of what was received since the last interrupt decides") {
  struct Row {
    const char* what;
    std::uint64_t packets;
    std::uint64_t size;
    std::uint32_t usecs;
  };
  // Nothing is sent: that direction asks for 12, 2 more than there was, with latency in mind.
  const Row rows[] = {{"latency, smallest", 3, 60, 10},
                      {"latency, 300 bytes: 29 us", 3, 300, 30},
                      {"latency, 1,000 bytes: 51.7 us", 3, 1000, 52},
                      {"latency, full frames: 58.6 us", 2, 1514, 60},
                      {"few, a little longer", 4, 60, 12},
                      {"few", 47, 1514, 12},
                      {"many bytes count as few packets", 3, 3001, 12},
                      {"just right", 48, 1514, 10},
                      {"just right", 95, 60, 10},
                      {"too many: half, but at least 10", 96, 1514, 10},
                      {"far too many, small: 20 us", 256, 60, 20},
                      {"far too many, full frames: 117.2 us", 300, 1514, 118},
                      {"far too many, jumbo: 126 us", 300, 9000, 126}};
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Moderation moderation = started();
    moderation.received(row.packets, row.packets * row.size);
    moderation.sent(row.packets, row.packets * row.size);
    moderation.update(101);
    CHECK(moderation.usecs() == row.usecs);
  }
}

TEST_CASE("A steady few make the time longer step by step, to 126 us at most") {
  Moderation moderation = started();
  std::vector<std::uint32_t> times;
  for (std::uint64_t tick = 101; tick < 180; ++tick) {
    moderation.received(10, 15'140);
    moderation.sent(10, 15'140);
    const bool told = moderation.update(tick);
    CHECK(told == (times.empty() || times.back() != moderation.usecs()));
    times.push_back(moderation.usecs());
  }
  CHECK(times[0] == 12);
  CHECK(times[1] == 14);
  CHECK(times[57] == 126);
  CHECK(times.back() == 126);
}

TEST_CASE("The quicker direction wins, and bulk is quicker than latency whatever its time") {
  Moderation moderation = started();
  moderation.received(300, 300 * 1514);  // 118 us, bulk
  moderation.sent(2, 2 * 60);            // 10 us, latency
  moderation.update(101);
  CHECK(moderation.usecs() == 118);
  moderation.received(150, 150 * 1514);  // half
  moderation.sent(60, 60 * 1514);        // just right
  moderation.update(102);
  CHECK(moderation.usecs() == 59);
}

}  // namespace
}  // namespace tapestry::tests::moderation_test
