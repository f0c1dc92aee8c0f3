// What a broken invariant says.
//
// A bug asserts, and an assertion ends the program: so the code under test runs in a child process,
// and its last words come back. An empty text means that it went through.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace tapestry::tests {

template <class Code>
std::string abort_message(Code code) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // and not the handler of the test program
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    code();
    _exit(0);
  }
  close(ends[1]);
  std::string message;
  char part[256];
  for (ssize_t n = 0; (n = read(ends[0], part, sizeof part)) > 0;) {
    message.append(part, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const bool aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  return aborted ? message : "";
}

}  // namespace tapestry::tests
