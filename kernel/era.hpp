// An era: the switches of behaviour that a kernel version stands for. An era never sets a cost.
//
// Only what a scenario needs is here; docs/eras.md says which change each switch stands for.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace tapestry::kernel {

struct Era {
  std::string_view name;               // "6.1"
  bool byte_queue_limits;              // BQL: since 3.3
  bool softirq_time_limit;             // a bound of 2 ms beside the 10 restarts: since 3.9
  bool bulk_dequeue;                   // qdisc bulk dequeue and promise of more: since 3.18
  bool skip_inline_while_thread_runs;  // softirqs are left to a runnable ksoftirqd: 4.9 to 6.4
  bool tap_receives_inline;            // a tap write runs the receive path in the call: since 4.15
  bool software_segmentation;          // GSO whatever the device can do: since 4.17
  bool gro;                            // generic receive offload: since 2.6.29
  bool gro_hash;                       // GRO finds held packets in 8 lists, not in one: since 4.19
  bool gro_batches;                    // packets of GRO go up in batches of 8: since 5.4
  bool uml_vector_napi;  // UML's vector driver polls: since 5.18; before: receives in hardirq
};

// Nothing for a version that is not among them.
std::optional<Era> era_of(std::string_view version);

// The known versions, oldest first: 2.6.22 2.6.36 3.7 4.18 5.5 6.1 6.13 6.18.
std::vector<std::string_view> era_names();

}  // namespace tapestry::kernel
