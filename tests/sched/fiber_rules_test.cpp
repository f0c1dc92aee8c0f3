// What ends the program: bugs of those who use fibers, and overflows of a fiber's stack. Each is
// tried in a child process.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "sched/fiber.hpp"
#include "tests/support/abort.hpp"

namespace {

using Catch::Matchers::Contains;
using tapestry::sched::FiberEngine;
using tapestry::sched::FiberSlot;
using tapestry::tests::abort_message;

// An engine and one fiber of it, for an entry that is a plain function.
struct Scene {
  FiberEngine engine;
  FiberSlot main;
  FiberSlot fiber;

  bool start(void (*entry)(void*)) { return engine.start(fiber, entry, this); }
  void resume() { engine.switch_to(main, fiber); }
};

void parks_for_ever(void* argument) {
  Scene& scene = *static_cast<Scene*>(argument);
  for (;;)
    scene.engine.switch_to(scene.fiber, scene.main);
}

// Runs `act` on a scene whose fiber is suspended in the middle of parks_for_ever.
template <class Act>
std::string last_words(Act act) {
  return abort_message([&] {
    Scene scene;
    if (!scene.start(parks_for_ever)) _exit(0);
    scene.resume();
    act(scene);
    _exit(0);
  });
}

std::string last_words_of_entry(void (*entry)(void*)) {
  return abort_message([&] {
    Scene scene;
    if (!scene.start(entry)) _exit(0);
    scene.resume();
    _exit(0);
  });
}

}  // namespace

TEST_CASE("An engine that goes away before its fibers have finished says so", "[fiber]") {
  CHECK_THAT(last_words([](Scene& scene) { scene.engine.~FiberEngine(); }),
             Contains("it finishes, before its engine goes away"));
}

TEST_CASE("A slot that goes away with a suspended fiber says so", "[fiber]") {
  CHECK_THAT(last_words([](Scene& scene) { scene.fiber.~FiberSlot(); }),
             Contains("finishes before its slot goes away"));
}

TEST_CASE("A switch that makes no sense is refused", "[fiber]") {
  CHECK_THAT(last_words([](Scene& scene) {
               FiberSlot empty;
               scene.engine.switch_to(scene.main, empty);
             }),
             Contains("what is resumed was suspended"));
  CHECK_THAT(last_words([](Scene& scene) { scene.engine.switch_to(scene.fiber, scene.fiber); }),
             Contains("a slot holds one suspended execution"));
  CHECK_THAT(last_words([](Scene& scene) {
               FiberEngine other;
               other.switch_to(scene.main, scene.fiber);
             }),
             Contains("by the same engine"));
  CHECK_THAT(last_words([](Scene& scene) { (void)scene.start(parks_for_ever); }),
             Contains("a slot holds one suspended execution"));
}

TEST_CASE("Only a fiber finishes, and not inside a handler", "[fiber]") {
  CHECK_THAT(last_words([](Scene& scene) { scene.engine.finish(scene.fiber); }),
             Contains("only a fiber finishes"));
  CHECK_THAT(last_words_of_entry([](void* argument) {
               Scene& scene = *static_cast<Scene*>(argument);
               try {
                 throw 1;
               } catch (int) {
                 scene.engine.finish(scene.main);
               }
             }),
             Contains("outside of every catch block"));
}

TEST_CASE("An entry neither returns nor throws", "[fiber]") {
  CHECK_THAT(last_words_of_entry([](void*) {}), Contains("ends with finish, it doesn't return"));
  CHECK_THAT(last_words_of_entry([](void*) { throw std::runtime_error("torn"); }),
             Contains("an exception left the entry of a fiber") && Contains("torn"));
}

TEST_CASE("Another thread may not start a fiber while this one has some", "[fiber]") {
  CHECK_THAT(last_words([](Scene& scene) {
               std::thread([&scene] {
                 FiberSlot second;
                 (void)scene.engine.start(second, parks_for_ever, &scene);
               }).join();
             }),
             Contains("stay on one thread"));
}

namespace {

// What a child says on its standard error, however it ends.
template <class Code>
std::string said_by_child(Code code) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    for (const int number : {SIGSEGV, SIGABRT, SIGBUS})
      signal(number, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    code();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t n = 0; (n = read(ends[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

const char* entry_frame = nullptr;  // of the fiber that overflows, for the handler of its signal

// Says whether the fault was in the guard page: mapped without access, and less than a page below a
// stack that is used up.
void judge_fault(int, siginfo_t* info, void*) {
  const auto depth = entry_frame - static_cast<const char*>(info->si_addr);
  const std::ptrdiff_t stack = FiberEngine::default_stack_bytes;
  const std::ptrdiff_t page = 4096;
  const bool guarded =
      info->si_code == SEGV_ACCERR && depth > stack - 2 * page && depth < stack + page;
  const char* const verdict = guarded ? "hit the guard page" : "missed the guard page";
  if (write(STDERR_FILENO, verdict, std::char_traits<char>::length(verdict)) < 0) _exit(2);
  _exit(1);
}

[[gnu::noinline]] int descend(int depth) {
  volatile int frame[16];
  frame[depth % 16] = depth;
  if (depth == 1 << 20) return 0;
  return descend(depth + 1) + frame[depth % 16];
}

void overflows_its_stack(void*) {
  entry_frame = static_cast<const char*>(__builtin_frame_address(0));
  _exit(descend(1) & 1);
}

}  // namespace

TEST_CASE("A stack that overflows hits its guard page", "[fiber]") {
  const std::string said = said_by_child([] {
    static char handler_stack[64 * 1024];
    stack_t alternate{};
    alternate.ss_sp = handler_stack;
    alternate.ss_size = sizeof handler_stack;
    sigaltstack(&alternate, nullptr);
    struct sigaction action {};
    action.sa_sigaction = judge_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    Scene scene;
    if (scene.start(overflows_its_stack)) scene.resume();
  });
  CHECK(said == "hit the guard page");
}

#ifdef TAPESTRY_ADDRESS_SANITIZER

namespace {

// In a function of its own, so that only AddressSanitizer can tell where the bytes end.
[[gnu::noinline]] void set_byte(volatile char* bytes, std::size_t at) { bytes[at] = 1; }

}  // namespace

TEST_CASE("AddressSanitizer finds a buffer overflow on a fiber's stack", "[fiber]") {
  const std::string said = said_by_child([] {
    Scene scene;
    const bool started = scene.start([](void* argument) {
      Scene& self = *static_cast<Scene*>(argument);
      char buffer[16] = {};
      self.engine.switch_to(self.fiber, self.main);
      set_byte(buffer, sizeof buffer);
      self.engine.finish(self.main);
    });
    if (!started) return;
    scene.resume();
    scene.resume();
  });
  CHECK_THAT(said, Contains("stack-buffer-overflow"));
}

TEST_CASE("Fibers run under AddressSanitizer with frames kept aside and without", "[fiber-again]") {
  const char* const setting =
      GENERATE("detect_stack_use_after_return=0", "detect_stack_use_after_return=1");
  CAPTURE(setting);
  const std::string said = said_by_child([setting] {
    setenv("ASAN_OPTIONS", setting, 1);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execl("/proc/self/exe", "tests", "[fiber]~[many]", static_cast<char*>(nullptr));
  });
  CHECK_THAT(said, Contains("All tests passed"));
}

#endif
