// The edges of one descriptor: readable with every frame that is queued, whether or not others wait
// there already (sk_data_ready and kill_fasync in tun_net_xmit and packet_rcv), writable once when
// a writer that was refused may go on.
#pragma once

#include <utility>

#include "host/packet_io.hpp"

namespace tapestry::host::sim {

class Readiness {
 public:
  void listen(ReadinessListener* listener) { listener_ = listener; }

  // Call settled: the listener raises an interrupt, and the CPU that runs pays for it.
  void became_readable() {
    if (listener_ != nullptr) listener_->readable();
  }

  // A send would have blocked (SOCKWQ_ASYNC_NOSPACE).
  void refused_writer() { writer_was_refused_ = true; }
  // There is room again.
  void became_writable() {
    if (!watches_writable_ || listener_ == nullptr) return;
    if (std::exchange(writer_was_refused_, false)) listener_->writable();
  }
  // Who begins to watch when it is writable already is told at once, as by epoll_ctl.
  void watch_writable(bool wanted, bool is_writable) {
    watches_writable_ = wanted;
    if (is_writable) became_writable();
  }

 private:
  ReadinessListener* listener_ = nullptr;
  bool watches_writable_ = false;
  bool writer_was_refused_ = false;
};

}  // namespace tapestry::host::sim
