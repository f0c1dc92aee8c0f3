// Why a packet was thrown away, in the kernel's own words where it has any.
//
// The names are those of enum skb_drop_reason (include/net/dropreason-core.h, Linux 6.13),
// restricted to what can happen here; the reasons of our own concern what the kernel cannot see:
// the wire, the far side of a descriptor. One table gives the enumerators and their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tapestry::core {

// clang-format off
#define TAPESTRY_DROP_REASONS(KERNEL, OWN)                                                       \
  KERNEL(not_specified,        NOT_SPECIFIED)        /* its owner gave no verdict */             \
  KERNEL(no_socket,            NO_SOCKET)            /* nobody listens */                        \
  KERNEL(pkt_too_small,        PKT_TOO_SMALL)        /* shorter than its header */               \
  KERNEL(tcp_csum,             TCP_CSUM)                                                         \
  KERNEL(socket_filter,        SOCKET_FILTER)                                                    \
  KERNEL(udp_csum,             UDP_CSUM)                                                         \
  KERNEL(netfilter_drop,       NETFILTER_DROP)                                                   \
  KERNEL(otherhost,            OTHERHOST)            /* not for us, seen in promiscuous mode */  \
  KERNEL(ip_csum,              IP_CSUM)                                                          \
  KERNEL(ip_inhdr,             IP_INHDR)             /* something is wrong with the IP header */ \
  KERNEL(ip_rpfilter,          IP_RPFILTER)                                                      \
  KERNEL(unicast_in_l2_multicast, UNICAST_IN_L2_MULTICAST)                                       \
  KERNEL(ip_noproto,           IP_NOPROTO)                                                       \
  KERNEL(socket_rcvbuff,       SOCKET_RCVBUFF)       /* the socket's receive buffer is full */   \
  KERNEL(proto_mem,            PROTO_MEM)                                                        \
  KERNEL(socket_backlog,       SOCKET_BACKLOG)                                                   \
  KERNEL(tcp_flags,            TCP_FLAGS)                                                        \
  KERNEL(tcp_abort_on_data,    TCP_ABORT_ON_DATA)                                                \
  KERNEL(tcp_zerowindow,       TCP_ZEROWINDOW)                                                   \
  KERNEL(tcp_old_data,         TCP_OLD_DATA)         /* a retransmission that was not needed */  \
  KERNEL(tcp_overwindow,       TCP_OVERWINDOW)                                                   \
  KERNEL(tcp_ofomerge,         TCP_OFOMERGE)                                                     \
  KERNEL(tcp_rfc7323_paws,     TCP_RFC7323_PAWS)                                                 \
  KERNEL(tcp_old_sequence,     TCP_OLD_SEQUENCE)                                                 \
  KERNEL(tcp_invalid_sequence, TCP_INVALID_SEQUENCE)                                             \
  KERNEL(tcp_invalid_ack_sequence, TCP_INVALID_ACK_SEQUENCE)                                     \
  KERNEL(tcp_reset,            TCP_RESET)                                                        \
  KERNEL(tcp_invalid_syn,      TCP_INVALID_SYN)                                                  \
  KERNEL(tcp_close,            TCP_CLOSE)                                                        \
  KERNEL(tcp_old_ack,          TCP_OLD_ACK)                                                      \
  KERNEL(tcp_too_old_ack,      TCP_TOO_OLD_ACK)                                                  \
  KERNEL(tcp_ack_unsent_data,  TCP_ACK_UNSENT_DATA)                                              \
  KERNEL(tcp_ofo_queue_prune,  TCP_OFO_QUEUE_PRUNE)                                              \
  KERNEL(tcp_ofo_drop,         TCP_OFO_DROP)                                                     \
  KERNEL(ip_outnoroutes,       IP_OUTNOROUTES)                                                   \
  KERNEL(neigh_createfail,     NEIGH_CREATEFAIL)                                                 \
  KERNEL(neigh_failed,         NEIGH_FAILED)         /* no answer to ARP */                      \
  KERNEL(neigh_queuefull,      NEIGH_QUEUEFULL)      /* too many wait for an answer to ARP */    \
  KERNEL(neigh_dead,           NEIGH_DEAD)                                                       \
  KERNEL(tc_egress,            TC_EGRESS)                                                        \
  KERNEL(qdisc_drop,           QDISC_DROP)                                                       \
  KERNEL(qdisc_overlimit,      QDISC_OVERLIMIT)                                                  \
  KERNEL(qdisc_congested,      QDISC_CONGESTED)                                                  \
  KERNEL(fq_band_limit,        FQ_BAND_LIMIT)                                                    \
  KERNEL(fq_horizon_limit,     FQ_HORIZON_LIMIT)                                                 \
  KERNEL(fq_flow_limit,        FQ_FLOW_LIMIT)                                                    \
  KERNEL(cpu_backlog,          CPU_BACKLOG)          /* netdev_max_backlog */                    \
  KERNEL(xdp,                  XDP)                                                              \
  KERNEL(tc_ingress,           TC_INGRESS)                                                       \
  KERNEL(unhandled_proto,      UNHANDLED_PROTO)                                                  \
  KERNEL(skb_csum,             SKB_CSUM)                                                         \
  KERNEL(skb_gso_seg,          SKB_GSO_SEG)                                                      \
  KERNEL(skb_ucopy_fault,      SKB_UCOPY_FAULT)                                                  \
  KERNEL(dev_hdr,              DEV_HDR)              /* a device's own header is invalid */      \
  KERNEL(dev_ready,            DEV_READY)            /* the device is down */                    \
  KERNEL(full_ring,            FULL_RING)            /* a ring, or a tap's queue, is full */     \
  KERNEL(nomem,                NOMEM)                                                            \
  KERNEL(hdr_trunc,            HDR_TRUNC)                                                        \
  KERNEL(tap_filter,           TAP_FILTER)                                                       \
  KERNEL(tap_txfilter,         TAP_TXFILTER)                                                     \
  KERNEL(icmp_csum,            ICMP_CSUM)                                                        \
  KERNEL(invalid_proto,        INVALID_PROTO)                                                    \
  KERNEL(ip_inaddrerrors,      IP_INADDRERRORS)                                                  \
  KERNEL(ip_innoroutes,        IP_INNOROUTES)                                                    \
  KERNEL(ip_local_source,      IP_LOCAL_SOURCE)                                                  \
  KERNEL(ip_invalid_source,    IP_INVALID_SOURCE)                                                \
  KERNEL(ip_localnet,          IP_LOCALNET)                                                      \
  KERNEL(ip_invalid_dest,      IP_INVALID_DEST)                                                  \
  KERNEL(pkt_too_big,          PKT_TOO_BIG)                                                      \
  KERNEL(dup_frag,             DUP_FRAG)                                                         \
  KERNEL(frag_reasm_timeout,   FRAG_REASM_TIMEOUT)                                               \
  KERNEL(frag_too_far,         FRAG_TOO_FAR)                                                     \
  KERNEL(queue_purge,          QUEUE_PURGE)          /* a queue was emptied, not drained */      \
  KERNEL(packet_sock_error,    PACKET_SOCK_ERROR)                                                \
  KERNEL(mac_invalid_source,   MAC_INVALID_SOURCE)                                               \
  OWN(link_loss,               LINK_LOSS)            /* lost on the wire, by seeded chance */    \
  OWN(link_queue,              LINK_QUEUE)           /* the link's queue is full */              \
  OWN(link_down,               LINK_DOWN)            /* nobody at the other end */               \
  OWN(bridge_port,             BRIDGE_PORT)          /* a bridge has no other port for it */     \
  OWN(no_buffer,               NO_BUFFER)            /* the NIC found no posted receive buffer */\
  OWN(io_again,                IO_AGAIN)             /* the descriptor said EAGAIN */            \
  OWN(io_error,                IO_ERROR)             /* the descriptor said another error */     \
  OWN(no_reader,               NO_READER)            /* nobody has the other side open */        \
  OWN(run_end,                 RUN_END)              /* still queued when the run was over */
// clang-format on

enum class DropReason : std::uint8_t {
#define TAPESTRY_ENUMERATOR(enumerator, name) enumerator,
  TAPESTRY_DROP_REASONS(TAPESTRY_ENUMERATOR, TAPESTRY_ENUMERATOR)
#undef TAPESTRY_ENUMERATOR
};

#define TAPESTRY_COUNT(enumerator, name) +1
inline constexpr std::size_t kDropReasons = 0 TAPESTRY_DROP_REASONS(TAPESTRY_COUNT, TAPESTRY_COUNT);
#undef TAPESTRY_COUNT

// "SKB_DROP_REASON_FULL_RING"; for our own, "TAPESTRY_DROP_REASON_LINK_LOSS".
std::string_view name_of(DropReason reason);

// With or without the prefix.
std::optional<DropReason> drop_reason_of(std::string_view name);

}  // namespace tapestry::core
