// Workloads of all kinds.
#include <array>
#include <utility>

#include "app/scenario/decode.hpp"
#include "app/scenario/fields.hpp"

namespace tapestry::app {
namespace {

// `scale` and `rate` each belong to one way of timing.
void check_timing(const Value& map, const ReplayWorkload& replay, Diagnostics& diagnostics) {
  const Value::Entry* const rate = map.find("rate");
  const Value::Entry* const scale = map.find("scale");
  if (rate != nullptr && replay.timing != ReplayTiming::fixed) {
    diagnostics.add(rate->key_at, rate->value.path + ": has no effect without timing: fixed");
  }
  if (scale != nullptr && replay.timing != ReplayTiming::scaled) {
    diagnostics.add(scale->key_at, scale->value.path + ": has no effect without timing: scaled");
  }
  if (rate == nullptr && replay.timing == ReplayTiming::fixed) {
    diagnostics.add(map.at, map.path + ": 'rate' is missing",
                    "timing: fixed sends at a rate such as 1Gbit");
  }
}

template <class Kind>
void decode_workload_kind(const Value& map, std::string_view word, Workload& workload,
                          Diagnostics& diagnostics) {
  const Fields<Kind>& own = kind_fields<Kind>();
  std::vector<std::string> known = {"kind"};
  append_names(own, known);
  append_names(workload_fields(), known);
  check_keys(map, known, "a workload of kind " + std::string(word), diagnostics);
  Kind kind;
  read_fields(map, own, kind, diagnostics);
  read_fields(map, workload_fields(), workload, diagnostics);
  if constexpr (std::is_same_v<Kind, ReplayWorkload>) check_timing(map, kind, diagnostics);
  workload.kind = std::move(kind);
}

using DecodeWorkload = void (*)(const Value&, std::string_view, Workload&, Diagnostics&);

// In the order of kWorkloadKinds.
constexpr std::array<DecodeWorkload, kWorkloadKinds.size()> kWorkloadDecoders = {
    decode_workload_kind<ReplayWorkload>,
    decode_workload_kind<UdpStreamWorkload>,
    decode_workload_kind<UdpRequestResponseWorkload>,
    decode_workload_kind<PingWorkload>,
    decode_workload_kind<SyscallWorkload>,
    decode_workload_kind<TcpStreamWorkload>,
    decode_workload_kind<TcpMaertsWorkload>,
    decode_workload_kind<TcpRequestResponseWorkload>,
    decode_workload_kind<TcpConnectWorkload>,
    decode_workload_kind<PktgenWorkload>};

}  // namespace

std::vector<Workload> decode_workloads(const Value& tree, Diagnostics& diagnostics) {
  static const Attribute kind = selector("kind", kWorkloadKinds);
  std::vector<Workload> workloads;
  for (const Value::Entry* const entry : things_in(tree, "workloads", diagnostics)) {
    Workload workload;
    workload.name = entry->key;
    workload.at = entry->key_at;
    const Value::Entry* const chosen = entry->value.find("kind");
    if (!entry->value.is_map()) {
      // reported already; the name remains
    } else if (chosen == nullptr) {
      report_no_kind(entry->value, "workloads", kind, diagnostics);
    } else if (const auto index = read_choice(chosen->value, kind, diagnostics)) {
      kWorkloadDecoders[*index](entry->value, chosen->value.text, workload, diagnostics);
    }
    workloads.push_back(std::move(workload));
  }
  return workloads;
}

}  // namespace tapestry::app
