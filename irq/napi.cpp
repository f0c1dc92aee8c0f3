#include "irq/napi.hpp"

#include <utility>

#include "core/assert.hpp"
#include "irq/line.hpp"
#include "irq/napi_check.hpp"

namespace tapestry::irq {

// --- one instance
// -----------------------------------------------------------------------------------

Napi::Napi(NapiCore& core, std::string name, NapiPoller& poller, int weight)
    : core_(core),
      name_(std::move(name)),
      poller_(poller),
      weight_(weight),
      subject_(core.scheduler_.hub().timeline().names().add(core.scheduler_.name(), name_)) {
  TAPESTRY_ASSERT(weight_ > 0, "a poll may receive at least one packet");
  core_.instances_.push_back(this);
}

void Napi::tell(core::Happening happening, std::uint64_t argument) const {
  core_.scheduler_.hub().timeline().tell(happening, subject_, argument);
}

// A world may end in the middle of a poll.
Napi::~Napi() {
  core_.remove(*this);
  if (irq_ != nullptr) irq_->napi_ = nullptr;
}

void Napi::set_irq(IrqLine& line) {
  irq_ = &line;
  line.napi_ = this;
}

void Napi::line_unmasked() const {
  if (core_.check_ != nullptr && !disabled_ && !may_unmask_)
    violates(NapiRule::early_unmask, "unmask", core_.scheduler_.hub().timeline().now());
}

void Napi::violates(NapiRule rule, const char* step, core::Instant at) const {
  core_.check_->report(rule, core_.scheduler_.name() + "." + name_, step, at);
}

bool Napi::schedule() {
  sched::Cpu& cpu = core_.scheduler_.cpu();
  cpu.settle();
  if (disabled_) return false;
  if (scheduled_) {
    missed_ = true;
    tell(core::Happening::napi_missed);
    return false;
  }
  scheduled_ = true;
  tell(core::Happening::napi_scheduled);
  core_.add(cpu, *this);
  core_.softirqs_.raise(Vector::net_rx);
  return true;
}

bool Napi::complete_done(int work) {
  sched::Cpu& cpu = core_.scheduler_.cpu();
  cpu.settle();
  if (netpoll_) return false;
  const bool owned = scheduled_ && !listed_;
  if (!owned && core_.check_ != nullptr) {
    violates(NapiRule::not_the_owner, "napi_complete_done",
             core_.scheduler_.hub().timeline().now());
    return false;
  }
  TAPESTRY_ASSERT(owned, "a poller completes the instance that it owns");
  TAPESTRY_ASSERT(work >= 0, "a poll receives no less than nothing");
  core_.flush(*this, true);
  cpu.settle();
  ++let_go_;
  if (missed_) {
    missed_ = false;
    ++figures_.missed;
    tell(core::Happening::napi_completed, 1);
    core_.add(cpu, *this);
    core_.softirqs_.raise(Vector::net_rx);
    return false;
  }
  ++figures_.completions;
  may_unmask_ = true;
  scheduled_ = false;
  tell(core::Happening::napi_completed);
  return true;
}

void Napi::enable() {
  core_.scheduler_.hub().timeline().require_settled("a NAPI instance");
  TAPESTRY_ASSERT(!disabled_ || !scheduled_, "an instance is enabled after disable has returned");
  disabled_ = false;
  may_unmask_ = true;
}

// From the first line on nobody can schedule it or mark it as missed, so the present owner's next
// completion is the last.
void Napi::disable() {
  // napi_disable sleeps between its looks: usleep_range(20, 200).
  static constexpr core::Nanos kBetweenLooks{20'000};
  sched::Scheduler& scheduler = core_.scheduler_;
  core::Settled settled = scheduler.cpu().settle();
  disabled_ = true;
  while (scheduled_) {
    scheduler.sleep_until(scheduler.cpu().now(settled) + kBetweenLooks);
    settled = scheduler.cpu().settle();
  }
}

// --- the softirq
// ------------------------------------------------------------------------------------

NapiCore::NapiCore(sched::Scheduler& scheduler, Softirqs& softirqs, NapiOptions options)
    : scheduler_(scheduler), softirqs_(softirqs), options_(options) {
  TAPESTRY_ASSERT(options_.budget > 0, "netdev_budget is positive");
  softirqs.set_handler(Vector::net_rx, *this);
}

NapiCore::PerCpu& NapiCore::on(std::size_t cpu) {
  while (cpu >= state_.size())
    [[unlikely]] state_.push_back(std::make_unique<PerCpu>());
  return *state_[cpu];
}

void NapiCore::add(sched::Cpu& cpu, Napi& napi) {
  TAPESTRY_ASSERT(!napi.listed_, "an instance is on one poll list");
  napi.listed_ = true;
  on(cpu.index()).list.push_back(&napi);
}

void NapiCore::remove(Napi& napi) {
  std::erase(instances_, &napi);
  for (const auto& state : state_) {
    std::erase(state->list, &napi);
    std::erase(state->run, &napi);
    std::erase(state->poll_again, &napi);
  }
}

// One poll of weight packets; whoever used all of them is polled again, after all others.
int NapiCore::poll_one(sched::Cpu& cpu, Napi& napi) {
  cpu.charge(sched::Work::napi_poll);
  cpu.settle();
  if (napi.netpoll_) {  // on another CPU at this moment: later
    on(cpu.index()).poll_again.push_back(&napi);
    return 0;
  }
  napi.listed_ = false;
  const std::uint64_t let_go_before = napi.let_go_;
  const std::uint64_t missed_before = napi.figures_.missed;
  ++napi.polls_running_;
  napi.tell(core::Happening::poll_begins, static_cast<std::uint64_t>(napi.weight_));
  napi.may_unmask_ = false;
  const int work = napi.poller_.poll(napi.weight_);
  cpu.settle();
  --napi.polls_running_;
  TAPESTRY_ASSERT(work >= 0 && work <= napi.weight_, "a poll receives at most its budget");
  ++napi.figures_.polls;
  napi.figures_.sizes.add(static_cast<std::uint64_t>(work));
  napi.figures_.packets += static_cast<std::uint64_t>(work);
  if (work == 0) ++napi.figures_.empty_polls;
  if (work == napi.weight_) ++napi.figures_.full_polls;
  const PollEnd end = work == napi.weight_                    ? PollEnd::budget
                      : napi.figures_.missed != missed_before ? PollEnd::missed
                                                              : PollEnd::ring_empty;
  ++napi.figures_.ends[static_cast<std::size_t>(end)];
  on_poll(napi, cpu, work, napi.weight_);
  napi.tell(core::Happening::poll_ends, static_cast<std::uint64_t>(work));
  // Once it let go, another CPU may own it already. Letting go although the whole budget was used
  // is against the contract, but UML's vector driver does it.
  const bool owns_it = napi.let_go_ == let_go_before;
  napi.last_poll_ended_ = cpu.timeline().now();
  if (check_ != nullptr) {
    const bool full = work == napi.weight_;
    if (full && !owns_it)
      napi.violates(NapiRule::full_budget_completes, "poll", napi.last_poll_ended_);
    if (!full && owns_it) {
      napi.violates(NapiRule::stalls, "poll", napi.last_poll_ended_);
      return work;
    }
  }
  TAPESTRY_ASSERT(!owns_it || work == napi.weight_, "who leaves budget unused has completed");
  if (owns_it) keep_polling(cpu, napi, work);
  return work;
}

void NapiCore::keep_polling(sched::Cpu& cpu, Napi& napi, int work) {
  if (napi.disabled_) {
    napi.complete_done(work);
    return;
  }
  flush(napi, false);
  cpu.settle();
  napi.listed_ = true;
  on(cpu.index()).poll_again.push_back(&napi);
}

void NapiCore::softirq(sched::Cpu& cpu) {
  PerCpu& here = on(cpu.index());
  const core::Instant limit = core::after(cpu.now(cpu.settle()), options_.budget_time);
  int budget = options_.budget;
  here.run.swap(here.list);
  std::size_t polled = 0;
  while (polled < here.run.size()) {
    budget -= poll_one(cpu, *here.run[polled++]);
    const bool out_of_time = cpu.now(cpu.settle()) >= limit;
    if (budget > 0 && !out_of_time) continue;
    const bool work_left =
        polled < here.run.size() || !here.poll_again.empty() || !here.list.empty();
    if (!work_left) break;
    ++here.figures.time_squeeze;
    ++(budget <= 0 ? here.figures.squeezed_by_budget : here.figures.squeezed_by_time);
    cpu.timeline().tell(core::Happening::napi_squeezed, 0, budget <= 0 ? 0 : 1);
    break;
  }
  here.figures.run_sizes.add(static_cast<std::uint64_t>(options_.budget - budget));
  // What was not reached, then what was scheduled meanwhile, then what wants more.
  here.run.erase(here.run.begin(), here.run.begin() + static_cast<std::ptrdiff_t>(polled));
  here.run.insert(here.run.end(), here.list.begin(), here.list.end());
  here.run.insert(here.run.end(), here.poll_again.begin(), here.poll_again.end());
  here.list.swap(here.run);
  here.run.clear();
  here.poll_again.clear();
  if (!here.list.empty()) softirqs_.raise(Vector::net_rx);
}

void NapiCore::netpoll(Napi& napi) {
  sched::Cpu& cpu = scheduler_.cpu();
  cpu.settle();
  if (napi.disabled_ || napi.netpoll_ || napi.polls_running_ > 0) return;
  napi.netpoll_ = true;
  cpu.charge(sched::Work::napi_poll);
  cpu.settle();
  const int work = napi.poller_.poll(0);
  cpu.settle();
  napi.netpoll_ = false;
  if (work != 0 && check_ != nullptr)
    napi.violates(NapiRule::budget_zero_receives, "netpoll", cpu.timeline().now());
  else
    TAPESTRY_ASSERT(work == 0, "with budget 0 nothing is received");
}

void NapiCore::check_quiet() const {
  if (check_ == nullptr) return;
  for (const Napi* napi : instances_) {
    if (napi->disabled_ || napi->scheduled_ || napi->irq_ == nullptr) continue;
    if (napi->irq_->masked())
      napi->violates(NapiRule::line_stays_masked, "at rest", napi->last_poll_ended_);
    else if (!napi->irq_->pending() && napi->poller_.frames_wait())
      napi->violates(NapiRule::lost_wakeup, "at rest", napi->last_poll_ended_);
  }
}

}  // namespace tapestry::irq
