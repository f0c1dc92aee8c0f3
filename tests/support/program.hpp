// Runs the built program as people do: a child process with its own standard streams.
//
//     Finished run = tapestry({"run", "scenarios/packets-per-syscall.yaml"});
//     CHECK(run.code == 0);
//
// The program is the one beside the tests' own; it is started in the root of the sources.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::tests {

struct Finished {
  int code = -1;   // the exit code; -1 if a signal ended it
  int signal = 0;  // which
  std::string out;
  std::string err;
};

struct ProgramOptions {
  std::string input{};            // what it reads from standard input
  std::string output_to{};        // a file for standard output instead of a pipe
  bool output_is_closed = false;  // nobody reads the pipe
  std::string folder{};           // where it is started; empty: in the root of the sources
  std::string variable{};         // NAME=VALUE, beside its environment
  bool ignores_sigpipe = false;   // as children of many programs do
  // Called once, while it runs, with its process id.
  std::function<void(pid_t)> meanwhile{};
};

Finished tapestry(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

// A folder of its own for one test, gone with it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // Writes a file, returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path folder_;
};

std::string read_text(const std::filesystem::path& path);

}  // namespace tapestry::tests
