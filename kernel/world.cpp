#include "kernel/world.hpp"

namespace tapestry::kernel {

World::World(WorldOptions options)
    : options_(options), packets_(options.packets_max), hub_(timeline_, fibers_) {}

void World::unwind() {
  hub_.begin_cancelling();
  for (const auto& machine : machines_)
    machine->cancel_all();
}

World::~World() {
  unwind();
  while (!machines_.empty())
    machines_.pop_back();  // guests before their hosts
}

Machine& World::add_machine(MachineOptions options, const sched::CostTable& costs) {
  machines_.push_back(std::make_unique<Machine>(*this, std::move(options), costs));
  return *machines_.back();
}

Machine* World::machine(std::string_view name) {
  for (const auto& machine : machines_)
    if (machine->name() == name) return machine.get();
  return nullptr;
}

std::vector<std::string> World::blocked_threads() const {
  std::vector<std::string> lines;
  for (const auto& machine : machines_)
    for (std::string& line : machine->scheduler().blocked_threads())
      lines.push_back(std::move(line));
  return lines;
}

}  // namespace tapestry::kernel
