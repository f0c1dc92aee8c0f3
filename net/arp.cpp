#include "net/arp.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/bytes.hpp"
#include "net/device.hpp"
#include "net/headers.hpp"
#include "net/socket_memory.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

using core::DropReason;
using core::PacketPtr;
using sched::Work;

namespace {

MacAddress load_mac(const std::uint8_t* from) {
  MacAddress mac;
  std::memcpy(mac.bytes.data(), from, mac.bytes.size());
  return mac;
}

void store_mac(std::uint8_t* to, MacAddress mac) {
  std::memcpy(to, mac.bytes.data(), mac.bytes.size());
}

void push_ethernet_header(core::Packet& packet, MacAddress to, MacAddress from,
                          std::uint16_t type) {
  std::uint8_t* header = packet.push(ethernet::kBytes).data();
  store_mac(header + ethernet::kDestination, to);
  store_mac(header + ethernet::kSource, from);
  core::store_be16(header + ethernet::kType, type);
  packet.set_mac_header();
  packet.set_network_header(ethernet::kBytes);
  packet.protocol = type;
}

}  // namespace

ArpTable::ArpTable(Stack& stack)
    : stack_(stack), timer_(stack.environment().jiffies, &ArpTable::timer_expired, this) {}

ArpTable::~ArpTable() = default;

// --- the table -----------------------------------------------------------------------------------

ArpTable::Entry* ArpTable::find(Ipv4Address address) const {
  stack_.timeline().require_settled("the neighbour table");
  Entry* entry = buckets_[bucket_of(address)];
  while (entry != nullptr && entry->address != address)
    entry = entry->next_in_bucket;
  return entry;
}

void ArpTable::link(Entry& entry) {
  Entry*& bucket = buckets_[bucket_of(entry.address)];
  entry.next_in_bucket = std::exchange(bucket, &entry);
}

void ArpTable::unlink(Entry& entry) {
  Entry** at = &buckets_[bucket_of(entry.address)];
  while (*at != &entry)
    at = &(*at)->next_in_bucket;
  *at = entry.next_in_bucket;
}

// A full table gives up the first neighbour that has not answered; null if all have.
ArpTable::Entry* ArpTable::make(Device& device, Ipv4Address address) {
  Entry* entry = nullptr;
  if (entries_.size() < kEntriesMax) {
    // The smallest packet counts 512 bytes and more.
    entry = &entries_.emplace_back(stack_.options().unresolved_queue_bytes / 512 + 1);
  } else {
    const auto failed = std::ranges::find(entries_, State::failed, &Entry::state);
    if (failed == entries_.end()) return nullptr;
    entry = &*failed;
    unlink(*entry);
  }
  entry->address = address;
  entry->device = &device;
  entry->state = State::failed;
  link(*entry);
  return entry;
}

void ArpTable::add(Device& device, Ipv4Address neighbour, MacAddress mac) {
  Entry* entry = find(neighbour);
  if (entry == nullptr) entry = make(device, neighbour);
  TAPESTRY_ASSERT(entry != nullptr, "the neighbour table has room for what is set up");
  entry->device = &device;
  entry->mac = mac;
  entry->state = State::known;
}

std::optional<MacAddress> ArpTable::look_up(Ipv4Address neighbour) const {
  const Entry* entry = find(neighbour);
  if (entry == nullptr || entry->state != State::known) return std::nullopt;
  return entry->mac;
}

// --- sending -------------------------------------------------------------------------------------

void ArpTable::transmit(Device& device, Ipv4Address neighbour, PacketPtr packet) {
  Entry* entry = find(neighbour);
  if (entry != nullptr && entry->state == State::known) [[likely]] {
    transmit_to(device, entry->mac, std::move(packet));
    return;
  }
  if (entry == nullptr) entry = make(device, neighbour);
  if (entry == nullptr) {
    ++figures_.table_full;
    stack_.allocator().drop(std::move(packet), DropReason::neigh_createfail);
    return;
  }
  const bool new_question = entry->state != State::incomplete;
  if (new_question) {
    entry->state = State::incomplete;
    entry->requests = 0;
    entry->waiting_bytes = 0;
  }
  let_wait(*entry, std::move(packet));
  if (new_question) start_asking(*entry);
}

void ArpTable::transmit_to(Device& device, MacAddress mac, PacketPtr packet) {
  push_ethernet_header(*packet, mac, device.mac(), ethernet::kIpv4);
  device.transmit(std::move(packet));
}

void ArpTable::let_wait(Entry& entry, PacketPtr packet) {
  const std::uint32_t bytes = socket_memory_bytes(packet->length());
  const std::uint32_t bound = std::max(stack_.options().unresolved_queue_bytes, bytes);
  core::PacketQueue too_old(entry.waiting.size());
  while (entry.waiting_bytes + bytes > bound) {
    PacketPtr oldest = entry.waiting.pop();
    entry.waiting_bytes -= socket_memory_bytes(oldest->length());
    (void)too_old.push(std::move(oldest));
  }
  entry.waiting_bytes += bytes;
  const bool waits = entry.waiting.push(std::move(packet));
  TAPESTRY_ASSERT(waits, "packet memory bounds the packets that wait for ARP");
  figures_.unresolved_discards += too_old.size();
  while (PacketPtr oldest = too_old.pop())
    stack_.allocator().drop(std::move(oldest), DropReason::neigh_queuefull);
}

// --- asking --------------------------------------------------------------------------------------

void ArpTable::start_asking(Entry& entry) {
  stack_.cpu().settle();
  if (entry.state != State::incomplete) return;
  const irq::JiffyTimers& jiffies = stack_.environment().jiffies;
  ++entry.requests;
  entry.next_request = jiffies.jiffies() + jiffies.to_jiffies(kRetry);
  send_request(entry);
  program();
}

void ArpTable::send_request(const Entry& entry) {
  ++figures_.requests_out;
  send_arp(*entry.device, arp::kRequest, MacAddress::broadcast(), entry.address);
}

void ArpTable::send_arp(Device& device, std::uint16_t operation, MacAddress to,
                        Ipv4Address target) {
  const std::optional<Ipv4Prefix> own = stack_.address_of(device);
  stack_.cpu().charge(Work::arp);
  PacketPtr packet = stack_.allocator().allocate(core::Origin::stack);
  if (!packet || !own) return;  // as if it were lost; it is sent again
  std::uint8_t* body = packet->put(arp::kBytes).data();
  core::store_be32(body, arp::kEthernetAndIpv4);
  core::store_be16(body + 4, arp::kLengths);
  core::store_be16(body + arp::kOperation, operation);
  store_mac(body + arp::kSenderMac, device.mac());
  core::store_be32(body + arp::kSenderAddress, own->address.value);
  store_mac(body + arp::kTargetMac, operation == arp::kRequest ? MacAddress{} : to);
  core::store_be32(body + arp::kTargetAddress, target.value);
  push_ethernet_header(*packet, to, device.mac(), ethernet::kArp);
  device.transmit(std::move(packet));
}

// For the earliest request that is due; entries come and go while it is being programmed.
void ArpTable::program() {
  stack_.cpu().settle();
  std::uint64_t earliest = UINT64_MAX;
  for (const Entry& entry : entries_) {
    if (entry.state == State::incomplete) earliest = std::min(earliest, entry.next_request);
  }
  if (earliest == UINT64_MAX) {
    timer_.cancel();
  } else if (!timer_.pending() || earliest < programmed_) {
    programmed_ = earliest;
    timer_.modify(earliest);
  }
}

void ArpTable::timer_expired(void* object) {
  ArpTable& table = *static_cast<ArpTable*>(object);
  for (std::size_t i = 0; i < table.entries_.size(); ++i) {
    table.stack_.cpu().settle();
    const std::uint64_t now = table.stack_.environment().jiffies.jiffies();
    Entry& entry = table.entries_[i];
    if (entry.state == State::incomplete && entry.next_request <= now) table.ask_again(entry, now);
  }
  table.program();
}

void ArpTable::ask_again(Entry& entry, std::uint64_t now) {
  if (entry.requests < kRequestsMax) {
    ++entry.requests;
    entry.next_request = now + stack_.environment().jiffies.to_jiffies(kRetry);
    send_request(entry);
    return;
  }
  ++figures_.failed;
  entry.state = State::failed;
  core::PacketQueue hopeless(entry.waiting.size());
  while (PacketPtr packet = entry.waiting.pop())
    (void)hopeless.push(std::move(packet));
  entry.waiting_bytes = 0;
  while (PacketPtr packet = hopeless.pop())
    stack_.allocator().drop(std::move(packet), DropReason::neigh_failed);
}

// --- learning ------------------------------------------------------------------------------------

void ArpTable::receive(Device& device, PacketPtr packet) {
  stack_.cpu().charge(Work::arp);
  const bool whole = packet->make_linear(arp::kBytes);
  const std::uint8_t* body = packet->data();
  if (!whole || core::load_be32(body) != arp::kEthernetAndIpv4 ||
      core::load_be16(body + 4) != arp::kLengths) {
    ++figures_.ignored;
    stack_.allocator().drop(std::move(packet), DropReason::invalid_proto);
    return;
  }
  const std::uint16_t operation = core::load_be16(body + arp::kOperation);
  const MacAddress sender_mac = load_mac(body + arp::kSenderMac);
  const Ipv4Address sender{core::load_be32(body + arp::kSenderAddress)};
  const Ipv4Address target{core::load_be32(body + arp::kTargetAddress)};
  const std::optional<Ipv4Prefix> own = stack_.address_of(device);
  const bool known_operation = operation == arp::kRequest || operation == arp::kReply;
  const bool is_safe = !sender_mac.is_multicast() && !sender.is_multicast() &&
                       !sender.is_broadcast() && !stack_.is_local(sender);
  stack_.allocator().free(std::move(packet));
  stack_.cpu().settle();
  if (!known_operation || !is_safe || !own) {
    ++figures_.ignored;
    return;
  }
  ++(operation == arp::kRequest ? figures_.requests_in : figures_.replies_in);
  const bool asks_us = operation == arp::kRequest && target == own->address;
  if (!sender.is_any()) {  // any: a probe for a duplicate address (RFC 5227)
    Entry* entry = find(sender);
    if (entry == nullptr && asks_us) entry = make(device, sender);
    if (entry != nullptr) learn(*entry, device, sender_mac);
  }
  if (!asks_us) return;
  ++figures_.replies_out;
  send_arp(device, arp::kReply, sender_mac, sender);
}

void ArpTable::learn(Entry& entry, Device& device, MacAddress mac) {
  const bool answered = entry.state == State::incomplete;
  entry.state = State::known;
  entry.mac = mac;
  entry.device = &device;
  if (!answered) return;
  core::PacketQueue ready(entry.waiting.size());
  while (PacketPtr packet = entry.waiting.pop())
    (void)ready.push(std::move(packet));
  entry.waiting_bytes = 0;
  while (PacketPtr packet = ready.pop())
    transmit_to(device, mac, std::move(packet));
  program();
}

}  // namespace tapestry::net
