// Both ends of a virtqueue while somebody writes into the memory between them. The bytes of the
// input say what happens: which layout and size, which end does what, what is overwritten with
// what. Whatever they say, packets come out as often as they went in, and a queue that is broken
// has counted a fault.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "tests/host/virtqueue/queue_pair.hpp"

namespace {

using namespace tapestry;
using host::virtqueue::Descriptor;
using host::virtqueue::PackedMemory;
using host::virtqueue::QueueOptions;
using host::virtqueue::SplitMemory;

class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t size) : bytes_(bytes, size) {}
  bool empty() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  std::uint16_t number() { return static_cast<std::uint16_t>(byte() | byte() << 8); }
  template <class Element>
  void overwrite(std::span<Element> memory) {
    auto* const at = reinterpret_cast<std::uint8_t*>(memory.data());
    at[number() % memory.size_bytes()] = byte();
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

void overwrite(SplitMemory& shared, Input& input) {
  switch (input.byte() % 6) {
    case 0:
      return input.overwrite(std::span(shared.available));
    case 1:
      return input.overwrite(std::span(shared.used));
    case 2:
      shared.available_index = input.number();
      return;
    case 3:
      shared.used_index = input.number();
      return;
    case 4:
      shared.used_event = shared.available_event = input.number();
      return;
    default:
      return input.overwrite(std::span(shared.descriptors));
  }
}

void overwrite(PackedMemory& shared, Input& input) {
  switch (input.byte() % 4) {
    case 0:
      shared.driver = {input.number(), input.byte()};
      return;
    case 1:
      shared.device = {input.number(), input.byte()};
      return;
    default:
      return input.overwrite(std::span(shared.descriptors));
  }
}

template <class Pair>
void device_step(Pair& pair, Input& input) {
  const auto chain = pair.device.next();
  if (chain && input.byte() % 4 == 0) {
    pair.device.put_back(*chain);
  } else if (chain) {
    pair.device.give_packet(*chain, pair.device.take_packet(*chain));
    pair.device.use(*chain, input.byte());
  }
  if (input.byte() % 2 == 0) pair.device.publish();
}

template <class Pair>
void driver_step(Pair& pair) {
  if (auto completed = pair.driver.take_used(); completed && completed->packet)
    core::consume(std::move(completed->packet));
}

template <class Pair>
void run(std::size_t size, QueueOptions options, Input& input) {
  Pair pair(size, options);
  for (std::uint32_t number = 0; !input.empty(); ++number) {
    switch (input.byte() % 8) {
      case 0:
        (void)pair.send(number, {20, 40});
        break;
      case 1:
        (void)pair.post(100);
        break;
      case 2:
        device_step(pair, input);
        break;
      case 3:
        driver_step(pair);
        break;
      case 4:
        (void)pair.driver.kick_prepare();
        (void)pair.device.must_interrupt();
        break;
      case 5:
        (void)pair.driver.enable_callbacks_delayed();
        (void)pair.device.enable_notifications();
        break;
      case 6:
        pair.driver.disable_callbacks();
        pair.device.disable_notifications();
        break;
      default:
        overwrite(pair.ring.memory(), input);
    }
  }
  if (pair.driver.broken() != (pair.driver.faults().all() != 0)) std::abort();
  if (pair.device.broken() != (pair.device.faults().all() != 0)) std::abort();
  while (core::PacketPtr packet = pair.driver.take_back())
    core::consume(std::move(packet));
  if (!pair.packets.close().balanced) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const std::uint8_t kind = input.byte();
  const QueueOptions options{
      .event_index = (kind & 1) != 0, .indirect = (kind & 2) != 0, .in_order = (kind & 128) != 0};
  if ((kind & 4) != 0)
    run<tests::PackedPair>(1u + (kind >> 3) % 16u, options, input);
  else
    run<tests::QueuePair>(std::size_t{1} << (kind >> 3) % 16 % 5, options, input);
  return 0;
}
