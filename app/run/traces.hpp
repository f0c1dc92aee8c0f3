// The traces of one run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/run/runner.hpp"
#include "observe/perfetto_writer.hpp"
#include "observe/trace_sink.hpp"

namespace tapestry::app {

class Traces {
 public:
  explicit Traces(RunWorld& run) : run_(run) {}

  void watch(const MakeTraceConsumer& make);
  // Returns what went wrong; empty: nothing.
  std::string add(const TraceRequest& request);
  // Likewise; a trace that was cut is a warning. Nothing is traced after it.
  std::string close(std::vector<std::string>& warnings);

 private:
  RunWorld& run_;
  std::unique_ptr<observe::TraceConsumer> consumer_;
  std::unique_ptr<observe::PerfettoWriter> writer_;
  std::optional<observe::TraceSink> watcher_;
  std::optional<observe::TraceSink> trace_;
};

}  // namespace tapestry::app
