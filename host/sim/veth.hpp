// A virtual Ethernet pair: what one end transmits, the other receives through its backlog
// (drivers/net/veth.c).
//
// Both ends take everything that hardware could be asked for, since nothing has a wire to cross:
// unfinished checksums and large segments pass as they are.
#pragma once

#include <string_view>

#include "net/device.hpp"

namespace tapestry::host::sim {

class Veth {
 public:
  // Becomes the driver of both devices, which belong to one machine.
  Veth(net::Device& left, net::Device& right);

 private:
  class End final : public net::Driver {
   public:
    End(net::Device& own, net::Device& peer) : own_(own), peer_(peer) { own.set_driver(*this); }
    std::string_view kind() const override { return "veth"; }
    net::Features features() const override {
      return {.scatter_gather = true,
              .transmit_checksum = true,
              .segmentation = true,
              .fixed_id_segmentation = true,
              .udp_segmentation = true,
              .receive_checksum = true,
              .lockless = true,
              .queueless = true};
    }
    void open() override {}
    void close() override {}
    net::Transmit transmit(core::PacketPtr& packet, net::TxQueue& queue) override;

   private:
    net::Device& own_;
    net::Device& peer_;
  };

  End left_;
  End right_;
};

}  // namespace tapestry::host::sim
