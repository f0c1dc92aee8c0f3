#include "app/run/traces.hpp"

#include <fmt/format.h>

namespace tapestry::app {

void Traces::watch(const MakeTraceConsumer& make) {
  consumer_ = make(run_);
  observe::TraceOptions options;
  options.charges = true;
  options.records_max = std::numeric_limits<std::uint64_t>::max();
  watcher_.emplace(run_.world(), *consumer_, options);
}

std::string Traces::add(const TraceRequest& request) {
  auto writer = observe::PerfettoWriter::create(request.path, run_.world().timeline().names());
  if (!writer) return writer.error().message;
  writer_ = std::move(*writer);
  observe::TraceOptions options;
  options.from_ns = request.from.count();
  options.to_ns = request.to.count();
  trace_.emplace(run_.world(), *writer_, options);
  return {};
}

std::string Traces::close(std::vector<std::string>& warnings) {
  if (watcher_) watcher_->finish();
  if (!trace_) return {};
  trace_->finish();
  if (trace_->cut())
    warnings.push_back(
        fmt::format("the trace is cut after {} records; --trace-window FROM..TO chooses which",
                    trace_->records()));
  return writer_->close();
}

}  // namespace tapestry::app
