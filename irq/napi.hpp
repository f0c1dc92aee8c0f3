// NAPI: one interrupt, then polling with a budget until the ring is empty, then interrupts again.
//
// The contract (Documentation/networking/napi.rst), which drivers keep and tests check:
//   - schedule is idempotent; while an instance is owned a further one only remembers (MISSED)
//   - work == budget means "stay scheduled": the core polls again, the interrupt stays masked
//   - work < budget: the driver has called complete_done; only if that returned true it unmasks
//   - after unmasking it looks at its ring once more
//   - budget 0 reclaims transmissions and must not receive
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/batch_sizes.hpp"
#include "core/probe.hpp"
#include "irq/softirq.hpp"

namespace tapestry::irq {

class IrqLine;
class NapiCheck;
class NapiCore;
enum class NapiRule : std::uint8_t;

class NapiPoller {
 public:
  virtual ~NapiPoller() = default;
  // Returns the number of packets received, 0 .. budget.
  virtual int poll(int budget) = 0;
  // Whether its device has frames that a poll would find. For NapiCheck, when all is quiet.
  virtual bool frames_wait() const { return false; }
};

// What the layer above keeps for an instance: packets that wait for more of their kind. Goes with
// the instance.
class NapiReceiveState {
 public:
  virtual ~NapiReceiveState() = default;
};

// Why a poll ended.
enum class PollEnd : std::uint8_t {
  ring_empty,  // less than a budget was there, and the instance completed
  budget,      // all of it was used: polled again
  missed,      // as ring_empty, but something was scheduled meanwhile: polled again
  count_
};
inline constexpr std::size_t kPollEnds = static_cast<std::size_t>(PollEnd::count_);

class Napi {
 public:
  static constexpr int kWeightDefault = 64;  // NAPI_POLL_WEIGHT

  // Starts disabled. `core` and `poller` outlive it.
  Napi(NapiCore& core, std::string name, NapiPoller& poller, int weight = kWeightDefault);
  ~Napi();
  Napi(const Napi&) = delete;
  Napi& operator=(const Napi&) = delete;

  // napi_schedule: puts the instance on the poll list of the running CPU and raises NET_RX.
  // Settles. False if it was owned already (then MISSED is set) or is disabled.
  bool schedule();
  // napi_complete_done, by its poller: false if the instance goes on being polled, because
  // something was missed, or because netpoll, which owns nothing, polls it. Settles.
  bool complete_done(int work);
  void enable();
  // Waits, in a thread, until nobody owns it; harmless when disabled already.
  void disable();
  // netif_napi_set_irq: the line that its driver masks while it polls. Known to NapiCheck only.
  void set_irq(IrqLine& line);
  bool enabled() const { return !disabled_; }
  bool scheduled() const { return scheduled_; }
  bool missed() const { return missed_; }
  int weight() const { return weight_; }
  const std::string& name() const { return name_; }

  struct Figures {
    std::uint64_t polls = 0;
    std::uint64_t packets = 0;
    std::uint64_t full_polls = 0;  // used the whole budget
    std::uint64_t empty_polls = 0;
    std::uint64_t completions = 0;
    std::uint64_t missed = 0;  // completions refused because of MISSED
    core::BatchSizes sizes;    // packets of each poll
    std::array<std::uint64_t, kPollEnds> ends{};
    std::uint64_t ended(PollEnd why) const { return ends[static_cast<std::size_t>(why)]; }
  };
  const Figures& figures() const { return figures_; }

  // Empty until the layer above puts something in.
  std::unique_ptr<NapiReceiveState>& receive_state() { return receive_state_; }

 private:
  friend class IrqLine;
  friend class NapiCore;
  void tell(core::Happening happening, std::uint64_t argument = 0) const;
  void line_unmasked() const;
  void violates(NapiRule rule, const char* step, core::Instant at) const;

  NapiCore& core_;
  std::string name_;
  NapiPoller& poller_;
  int weight_;
  bool scheduled_ = false;    // NAPIF_STATE_SCHED: somebody owns it
  bool missed_ = false;       // NAPIF_STATE_MISSED
  bool disabled_ = true;      // NAPIF_STATE_DISABLE
  bool netpoll_ = false;      // NAPIF_STATE_NPSVC: polled with budget 0
  bool listed_ = false;       // on a CPU's poll list
  int polls_running_ = 0;     // two, when the next owner begins before the last one has returned
  std::uint64_t let_go_ = 0;  // times that an owner completed it
  IrqLine* irq_ = nullptr;
  bool may_unmask_ = true;  // nobody has polled since the last completion
  core::Instant last_poll_ended_{};
  Figures figures_;
  std::unique_ptr<NapiReceiveState> receive_state_;
  core::SubjectId subject_;
};

// One row of /proc/net/softnet_stat.
struct SoftnetFigures {
  std::uint64_t processed = 0;           // counted by the stack, as each packet enters it
  std::uint64_t dropped = 0;             // the backlog was full
  std::uint64_t time_squeeze = 0;        // a run ended with work left
  std::uint64_t squeezed_by_budget = 0;  // ... because netdev_budget packets were done
  std::uint64_t squeezed_by_time = 0;    // ... because netdev_budget_usecs had passed
  core::BatchSizes run_sizes;            // packets of each run, by what its polls returned
};

struct NapiOptions {
  int budget = 300;                    // net.core.netdev_budget
  core::Nanos budget_time{8'000'000};  // net.core.netdev_budget_usecs: 2 jiffies
};

// The NET_RX softirq: net_rx_action.
class NapiCore final : public SoftirqHandler {
 public:
  NapiCore(sched::Scheduler& scheduler, Softirqs& softirqs, NapiOptions options);
  void softirq(sched::Cpu& cpu) override;

  // poll_one_napi: polls with budget 0, to reclaim transmissions where nothing may be received.
  // Nothing happens if it is disabled or polled at this moment. Who owns it stays as it was.
  void netpoll(Napi& napi);

  SoftnetFigures& figures(std::size_t cpu) { return on(cpu).figures; }

  // Packets that wait for more of their kind are handed up here (napi_gro_flush, gro_normal_list):
  // when an instance completes, before it gives up ownership, and after each poll that used its
  // whole budget; then those that have just come may stay. Set by the net layer.
  struct FlushHook {
    void (*flush)(void* object, Napi& napi, bool completes) = nullptr;
    void* object = nullptr;
  };
  void set_flush_hook(FlushHook hook) { flush_ = hook; }

  // Null, as at first: a broken contract is an assertion, where it is noticed.
  void set_check(NapiCheck* check) { check_ = check; }
  // Nothing is left to happen: looks for lines and frames that were forgotten.
  void check_quiet() const;

  // napi:napi_poll: instance, CPU, work, budget.
  core::Probe<const Napi&, const sched::Cpu&, int, int> on_poll;

 private:
  friend class Napi;
  struct PerCpu {
    std::vector<Napi*> list;        // poll_list
    std::vector<Napi*> run;         // what the present run took from it
    std::vector<Napi*> poll_again;  // what used its whole budget in the present run
    SoftnetFigures figures;
  };
  PerCpu& on(std::size_t cpu);
  void add(sched::Cpu& cpu, Napi& napi);
  void remove(Napi& napi);
  int poll_one(sched::Cpu& cpu, Napi& napi);
  void keep_polling(sched::Cpu& cpu, Napi& napi, int work);
  void flush(Napi& napi, bool completes) const {
    if (flush_.flush != nullptr) flush_.flush(flush_.object, napi, completes);
  }

  sched::Scheduler& scheduler_;
  Softirqs& softirqs_;
  NapiOptions options_;
  FlushHook flush_;
  NapiCheck* check_ = nullptr;
  std::vector<Napi*> instances_;
  std::vector<std::unique_ptr<PerCpu>> state_;
};

}  // namespace tapestry::irq
