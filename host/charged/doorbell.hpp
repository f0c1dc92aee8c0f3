// A doorbell that is paid for: settles, pays for the register write, rings.
#pragma once

#include "host/doorbell.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::host::charged {

class Doorbell final : public host::Doorbell {
 public:
  Doorbell(host::Doorbell& inner, sched::Scheduler& machine) : inner_(inner), machine_(machine) {}
  void ring(std::uint32_t value) override {
    sched::Cpu& cpu = machine_.cpu();
    cpu.charge(sched::Work::doorbell);
    cpu.settle();
    cpu.timeline().tell(core::Happening::doorbell, 0, value);
    inner_.ring(value);
    ++rings_;
  }
  std::uint64_t rings() const { return rings_; }

 private:
  host::Doorbell& inner_;
  sched::Scheduler& machine_;
  std::uint64_t rings_ = 0;
};

}  // namespace tapestry::host::charged
