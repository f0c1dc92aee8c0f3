// The fields of Perfetto's trace format that Tapestry writes, by message
// (protos/perfetto/trace/trace_packet.proto and track_event/*.proto).
#pragma once

#include <protozero/types.hpp>

namespace tapestry::observe::perfetto {

using Tag = protozero::pbf_tag_type;

inline constexpr Tag kTracePacket = 1;  // in Trace

namespace packet {
inline constexpr Tag kTimestamp = 8;
inline constexpr Tag kSequence = 10;  // trusted_packet_sequence_id
inline constexpr Tag kTrackEvent = 11;
inline constexpr Tag kInternedData = 12;
inline constexpr Tag kSequenceFlags = 13;
inline constexpr Tag kTrackDescriptor = 60;
inline constexpr std::uint32_t kStateCleared = 1;  // SEQ_INCREMENTAL_STATE_CLEARED
inline constexpr std::uint32_t kNeedsState = 2;    // SEQ_NEEDS_INCREMENTAL_STATE
}  // namespace packet

namespace descriptor {
inline constexpr Tag kUuid = 1;
inline constexpr Tag kName = 2;
inline constexpr Tag kProcess = 3;
inline constexpr Tag kParent = 5;
inline constexpr Tag kCounter = 8;
inline constexpr Tag kProcessPid = 1;
inline constexpr Tag kProcessName = 6;
}  // namespace descriptor

namespace interned_data {
inline constexpr Tag kEventNames = 2;
inline constexpr Tag kAnnotationNames = 3;
inline constexpr Tag kNumber = 1;
inline constexpr Tag kName = 2;
}  // namespace interned_data

namespace event {
inline constexpr Tag kAnnotation = 4;
inline constexpr Tag kType = 9;
inline constexpr Tag kNameNumber = 10;
inline constexpr Tag kTrack = 11;
inline constexpr Tag kCounterValue = 30;
inline constexpr Tag kFlow = 47;
inline constexpr Tag kLastFlow = 48;  // terminating_flow_ids
inline constexpr Tag kAnnotationNameNumber = 1;
inline constexpr Tag kAnnotationValue = 3;
inline constexpr int kBegin = 1;
inline constexpr int kEnd = 2;
inline constexpr int kInstant = 3;
inline constexpr int kCounter = 4;
}  // namespace event

}  // namespace tapestry::observe::perfetto
