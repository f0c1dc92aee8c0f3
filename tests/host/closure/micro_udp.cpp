// UDP over loopback: two sockets of one machine, the receive half inside the call that sends.
#include "net/udp.hpp"
#include "tests/host/closure/micro_scenarios.hpp"
#include "tests/host/closure/micro_world.hpp"

namespace tapestry::tests::closure {

namespace {

constexpr net::Endpoint kReceiver{{0x7f000001}, 7000};

class Loopback {
 public:
  explicit Loopback(const MicroRun& run)
      : micro(run.costs, run.mode, 1),
        count(static_cast<std::size_t>(run.count)),
        payload_(std::stoul(run.arguments.at(0))),
        buffer_(payload_.size()),
        payloads_(count, payload_),
        buffers_(count, buffer_),
        received_(count) {}

  std::int64_t time(const std::function<void(Stopwatch&)>& operation) {
    return micro.time(operation, [this] {
      machine().system_call([this] {
        sender_ = machine().stack().udp().open();
        receiver_ = machine().stack().udp().open();
        receiver_->bind(kReceiver);
        sender_->connect(kReceiver);
      });
    });
  }

  void send() {
    machine().system_call([&] { sender_->send(payload_); });
  }
  void receive() {
    machine().system_call([&] { receiver_->receive(buffer_); });
  }
  void send_many() {
    machine().system_call([&] { sender_->send_many(payloads_); });
  }
  void receive_many() {
    machine().system_call([&] { receiver_->receive_many(buffers_, received_); });
  }
  kernel::Machine& machine() { return micro.machine(); }

  MicroWorld micro;
  const std::size_t count;

 private:
  std::vector<std::uint8_t> payload_, buffer_;
  std::vector<std::span<const std::uint8_t>> payloads_;
  std::vector<std::span<std::uint8_t>> buffers_;
  std::vector<net::UdpSocket::Received> received_;
  std::unique_ptr<net::UdpSocket> sender_, receiver_;
};

}  // namespace

std::int64_t udp_send(const MicroRun& run) {
  Loopback lo(run);
  return lo.time([&](Stopwatch& watch) {
    watch.start();
    lo.send();
    lo.receive();
    watch.stop();
  });
}

std::int64_t udp_receive(const MicroRun& run) {
  Loopback lo(run);
  return lo.time([&](Stopwatch& watch) {
    lo.send();
    watch.start();
    lo.receive();
    watch.stop();
  });
}

std::int64_t udp_send_many(const MicroRun& run) {
  Loopback lo(run);
  return lo.time([&](Stopwatch& watch) {
    watch.start();
    lo.send_many();
    watch.stop();
    lo.receive_many();
  });
}

std::int64_t udp_receive_many(const MicroRun& run) {
  Loopback lo(run);
  return lo.time([&](Stopwatch& watch) {
    lo.send_many();
    watch.start();
    lo.receive_many();
    watch.stop();
  });
}

}  // namespace tapestry::tests::closure
