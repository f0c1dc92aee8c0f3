// Traces, read back as Perfetto would read them: slices nest on each track, time never goes back,
// everything is closed at the end, and the flow of a packet joins what it went through.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/run/runner.hpp"
#include "app/scenario/loader.hpp"
#include "kernel/world.hpp"
#include "observe/perfetto_fields.hpp"
#include "observe/trace_sink.hpp"

namespace tapestry::tests::trace_test {
namespace {

using namespace observe::perfetto;
using app::RunReport;

struct Event {
  std::uint64_t at = 0;
  std::uint64_t track = 0;
  int type = 0;
  std::string name;
  std::uint64_t flow = 0;
  bool ends_flow = false;
};

struct Trace {
  std::map<std::uint64_t, std::string> tracks;
  std::map<std::uint64_t, std::uint64_t> parents;
  std::map<std::uint64_t, std::string> names;
  std::vector<Event> events;
};

void read_track(protozero::pbf_reader message, Trace& trace) {
  std::uint64_t uuid = 0;
  while (message.next()) {
    if (message.tag() == descriptor::kUuid)
      uuid = message.get_uint64();
    else if (message.tag() == descriptor::kName)
      trace.tracks[uuid] = message.get_string();
    else if (message.tag() == descriptor::kParent)
      trace.parents[uuid] = message.get_uint64();
    else
      message.skip();
  }
}

void read_names(protozero::pbf_reader message, Trace& trace) {
  while (message.next(interned_data::kEventNames)) {
    protozero::pbf_reader entry = message.get_message();
    std::uint64_t number = 0;
    while (entry.next()) {
      if (entry.tag() == interned_data::kNumber)
        number = entry.get_uint64();
      else
        trace.names[number] = entry.get_string();
    }
  }
}

void read_event(protozero::pbf_reader message, Event& event, const Trace& trace) {
  while (message.next())
    switch (message.tag()) {
      case event::kType:
        event.type = message.get_enum();
        break;
      case event::kTrack:
        event.track = message.get_uint64();
        break;
      case event::kNameNumber:
        event.name = trace.names.at(message.get_uint64());
        break;
      case event::kLastFlow:
        event.ends_flow = true;
        [[fallthrough]];
      case event::kFlow:
        event.flow = message.get_fixed64();
        break;
      default:
        message.skip();
    }
}

Trace read(const std::string& path) {
  std::stringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string all = bytes.str();
  Trace trace;
  protozero::pbf_reader file(all);
  while (file.next(kTracePacket)) {
    protozero::pbf_reader packet = file.get_message();
    Event event;
    bool is_event = false;
    while (packet.next())
      switch (packet.tag()) {
        case packet::kTimestamp:
          event.at = packet.get_uint64();
          break;
        case packet::kTrackEvent:
          is_event = true;
          read_event(packet.get_message(), event, trace);
          break;
        case packet::kInternedData:
          read_names(packet.get_message(), trace);
          break;
        case packet::kTrackDescriptor:
          read_track(packet.get_message(), trace);
          break;
        default:
          packet.skip();
      }
    if (is_event) trace.events.push_back(event);
  }
  return trace;
}

// Slices nest on each track, never take less than no time, and are all closed at the end.
void check_slices(const Trace& trace) {
  struct Track {
    std::size_t open = 0;
    std::uint64_t last = 0;
  };
  std::map<std::uint64_t, Track> tracks;
  std::size_t too_early = 0;
  std::size_t without_begin = 0;
  std::size_t slices = 0;
  for (const Event& event : trace.events) {
    if (event.type != event::kBegin && event.type != event::kEnd) continue;
    Track& track = tracks[event.track];
    if (event.at < track.last) ++too_early;
    track.last = event.at;
    if (event.type == event::kBegin) {
      ++track.open;
      ++slices;
    } else if (track.open-- == 0) {
      ++without_begin;
    }
  }
  CHECK(too_early == 0);
  CHECK(without_begin == 0);
  CHECK(slices > 10);
  for (const auto& [uuid, track] : tracks) {
    CAPTURE(trace.tracks.at(uuid));
    CHECK(track.open == 0);
    CHECK(trace.parents.contains(uuid));
  }
}

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("tapestry-" + name)).string();
}

app::ScenarioFile shipped(const std::string& name, const std::vector<std::string>& overrides = {}) {
  app::LoadOptions options;
  options.overrides = overrides;
  auto loaded =
      app::load_scenario(std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/" + name, options);
  REQUIRE(loaded.scenario);
  return std::move(*loaded.scenario);
}

RunReport run_one(const app::ScenarioFile& file, const std::string& variant,
                  const std::string& workload, app::TraceRequest trace) {
  app::RunnerOptions options;
  options.variants = {variant};
  options.workloads = {workload};
  options.trace = std::move(trace);
  return app::run_scenario(file, options);
}

TEST_CASE("In a trace slices nest, nothing takes less than no time, and all is closed at the end",
          "[trace]") {
  const auto file = shipped("packets-per-syscall.yaml");
  const std::string variant = GENERATE("legacy", "tap", "hybrid", "raw");
  const std::string workload = GENERATE("replay", "udp", "ping");
  CAPTURE(variant, workload);
  const std::string path = temporary("nests.perfetto-trace");
  REQUIRE(run_one(file, variant, workload, {.path = path}).ending == app::Ending::complete);
  check_slices(read(path));
}

TEST_CASE("The flow of a packet joins what it went through on both machines", "[trace]") {
  const std::string path = temporary("flows.perfetto-trace");
  (void)run_one(shipped("packets-per-syscall.yaml"), "tap", "ping", {.path = path});
  const Trace trace = read(path);
  std::map<std::uint64_t, std::set<std::uint64_t>> tracks_of_flow;
  std::map<std::uint64_t, std::size_t> ends;
  for (const Event& event : trace.events) {
    if (event.flow == 0) continue;
    CHECK(event.type == event::kInstant);
    tracks_of_flow[event.flow].insert(event.track);
    if (event.name == "delivered" || event.name == "dropped") {
      CHECK(event.ends_flow);
      ++ends[event.flow];
    }
  }
  CHECK(ends.size() == 20);  // replies that the guest's process has read
  for (const auto& [flow, times] : ends) {
    CAPTURE(flow);
    CHECK(times == 1);
    CHECK(tracks_of_flow[flow].size() >= 3);  // a task, a softirq and the host's own
  }
}

TEST_CASE("A window keeps what happens inside of it, and slices still nest", "[trace]") {
  const std::string path = temporary("window.perfetto-trace");
  (void)run_one(shipped("packets-per-syscall.yaml"), "legacy", "udp",
                {.path = path, .from = core::Nanos{50'000'000}, .to = core::Nanos{51'000'000}});
  const Trace trace = read(path);
  REQUIRE(!trace.events.empty());
  for (const Event& event : trace.events) {
    if (event.type == event::kEnd) continue;  // what is open is closed when the run ends
    CHECK(event.at >= 50'000'000);
    CHECK(event.at < 51'000'000);
  }
  check_slices(trace);
}

TEST_CASE("A run that is given up closes its trace", "[trace]") {
  const auto file = shipped("packets-per-syscall.yaml");
  const std::string path = temporary("cut.perfetto-trace");
  app::RunnerOptions options;
  options.variants = {"tap"};
  options.workloads = {"udp"};
  options.trace = app::TraceRequest{.path = path};
  options.timeout = std::chrono::milliseconds(0);
  CHECK(app::run_scenario(file, options).ending == app::Ending::timed_out);
  check_slices(read(path));
}

TEST_CASE("Watching everything changes no fingerprint", "[trace]") {
  const std::string name =
      GENERATE("packets-per-syscall.yaml", "uml-on-this-host.yaml", "uml-lkl-tap-virtio.yaml");
  CAPTURE(name);
  const bool streams = name == "uml-lkl-tap-virtio.yaml";
  const auto file =
      streams ? shipped(name, {"workloads.stream.duration=5ms", "workloads.maerts.duration=5ms"})
              : shipped(name);
  const std::string alone = app::run_scenario(file, {}).fingerprint;
  class Nobody final : public observe::TraceConsumer {
    void record(const observe::TraceRecord&) override {}
  };
  app::RunnerOptions options;
  options.trace = app::TraceRequest{.path = temporary("everything.perfetto-trace")};
  options.watch = [](app::RunWorld&) { return std::make_unique<Nobody>(); };
  CHECK(app::run_scenario(file, options).fingerprint == alone);
}

TEST_CASE("A trace that is full says so, and keeps what it has", "[trace]") {
  kernel::World world({});
  observe::TraceBuffer buffer;
  observe::TraceSink sink(world, buffer, {.records_max = 3});
  for (std::uint64_t i = 0; i < 5; ++i)
    world.timeline().tell(core::Happening::doorbell, 0, i);
  CHECK(sink.cut());
  REQUIRE(buffer.records().size() == 3);
  CHECK(buffer.records()[2].argument == 2);
  sink.finish();
  world.timeline().tell(core::Happening::doorbell, 0);
  CHECK(sink.records() == 3);
}

TEST_CASE("Every kind of record has a name of its own", "[trace]") {
  const auto names = observe::happening_names();
  CHECK(std::set(names.begin(), names.end()).size() == names.size());
  CHECK(names[observe::kind_of(core::Milestone::dropped)] == "dropped");
  CHECK(names[observe::kind_of(core::Happening::charge)] == "charge");
}

}  // namespace
}  // namespace tapestry::tests::trace_test
