#include "irq/tasklet.hpp"

#include <utility>

#include "core/assert.hpp"

namespace tapestry::irq {

// A world may end while one is scheduled: then it leaves its queue.
Tasklet::~Tasklet() {
  if (!scheduled_) return;
  for (const auto& queue : tasklets_.queues_) {
    Tasklet* before = nullptr;
    for (Tasklet* at = queue->first; at != nullptr; before = at, at = at->next_) {
      if (at != this) continue;
      (before != nullptr ? before->next_ : queue->first) = next_;
      if (queue->last == this) queue->last = before;
      return;
    }
  }
}

void Tasklet::schedule() {
  sched::Cpu& cpu = tasklets_.scheduler_.cpu();
  cpu.settle();
  if (scheduled_ || killers_ > 0) return;
  scheduled_ = true;
  tasklets_.append(cpu, *this);
  tasklets_.softirqs_.raise(Vector::tasklet);
}

void Tasklet::kill() {
  tasklets_.scheduler_.cpu().settle();
  ++killers_;
  tasklets_.killers_.wait(tasklets_.scheduler_, [this] { return !scheduled_ && !running_; });
  --killers_;
}

Tasklets::Tasklets(sched::Scheduler& scheduler, Softirqs& softirqs)
    : scheduler_(scheduler), softirqs_(softirqs) {
  softirqs.set_handler(Vector::tasklet, *this);
}

Tasklets::Queue& Tasklets::on(std::size_t cpu) {
  while (cpu >= queues_.size())
    [[unlikely]] queues_.push_back(std::make_unique<Queue>());
  return *queues_[cpu];
}

void Tasklets::append(sched::Cpu& cpu, Tasklet& tasklet) {
  Queue& queue = on(cpu.index());
  tasklet.next_ = nullptr;
  (queue.last != nullptr ? queue.last->next_ : queue.first) = &tasklet;
  queue.last = &tasklet;
}

// What is scheduled while these run, by themselves for instance, waits for the next pass.
void Tasklets::softirq(sched::Cpu& cpu) {
  Queue& queue = on(cpu.index());
  Tasklet* const last = queue.last;
  for (bool more = last != nullptr; more;) {
    cpu.charge(sched::Work::tasklet);
    cpu.settle();
    Tasklet& tasklet = *queue.first;
    more = &tasklet != last;
    queue.first = std::exchange(tasklet.next_, nullptr);
    if (queue.first == nullptr) queue.last = nullptr;
    run(cpu, tasklet);
  }
}

void Tasklets::run(sched::Cpu& cpu, Tasklet& tasklet) {
  if (tasklet.running_) {  // on another CPU at this moment: try again
    append(cpu, tasklet);
    softirqs_.raise(Vector::tasklet);
    return;
  }
  tasklet.scheduled_ = false;
  tasklet.running_ = true;
  tasklet.function_(tasklet.object_);
  cpu.settle();
  tasklet.running_ = false;
  if (tasklet.killers_ > 0) killers_.wake_all(cpu);
}

}  // namespace tapestry::irq
