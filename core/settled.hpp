// Proof that the running context owes no time.
//
// Only `sched::Cpu::settle` can make one. A function that reads or writes what another context can
// change or see takes a Settled by value, and then forgetting to settle before it does not compile.
#pragma once

namespace tapestry::sched {
class Cpu;
}

namespace tapestry::core {

class Settled {
 private:
  constexpr Settled() = default;
  friend class tapestry::sched::Cpu;
};

}  // namespace tapestry::core
