// What a virtio network device offers and its driver accepts, by the specification's names (VIRTIO
// 1.2, 5.1.3 and 6).
#pragma once

#include <cstdint>

namespace tapestry::host::virtqueue {

struct NetFeatures {
  bool csum = false;           // VIRTIO_NET_F_CSUM: takes frames whose checksum is unfinished
  bool guest_csum = false;     // VIRTIO_NET_F_GUEST_CSUM: may deliver such frames
  bool guest_tso4 = false;     // VIRTIO_NET_F_GUEST_TSO4: may deliver frames to be segmented
  bool host_tso4 = false;      // VIRTIO_NET_F_HOST_TSO4: takes them
  bool mrg_rxbuf = false;      // VIRTIO_NET_F_MRG_RXBUF: spreads a frame over several buffers
  bool event_idx = true;       // VIRTIO_F_EVENT_IDX
  bool indirect_desc = false;  // VIRTIO_F_INDIRECT_DESC
  bool ring_packed = false;    // VIRTIO_F_RING_PACKED
  bool in_order = false;       // VIRTIO_F_IN_ORDER
  bool version_1 = true;       // VIRTIO_F_VERSION_1

  bool operator==(const NetFeatures&) const = default;

  // Segmentation needs unfinished checksums, each in its direction (5.1.3.1).
  // Packed rings came with version 1.
  bool consistent() const {
    return (csum || !host_tso4) && (guest_csum || !guest_tso4) && (version_1 || !ring_packed);
  }
};

// struct virtio_net_hdr_v1, also with VIRTIO_NET_F_MRG_RXBUF alone.
inline constexpr std::uint32_t kNetHeaderBytes = 12;

}  // namespace tapestry::host::virtqueue
