#include "tests/support/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tapestry::tests {

namespace {

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_read() { close_end(0); }
  void close_write() { close_end(1); }
  void close_end(std::size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

std::filesystem::path program_path() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tapestry";
}

// Between fork and exec: only what may be called there.
[[noreturn]] void become_program(const std::vector<char*>& arguments, const ProgramOptions& options,
                                 const Pipe& in, const Pipe& out, const Pipe& err) {
  std::signal(SIGPIPE, options.ignores_sigpipe ? SIG_IGN : SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  int output = out.ends[1];
  if (!options.output_to.empty())
    output = open(options.output_to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(in.ends[0], STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(err.ends[1], STDERR_FILENO);
  if (!options.variable.empty()) putenv(const_cast<char*>(options.variable.c_str()));
  if (chdir(options.folder.empty() ? TAPESTRY_SOURCE_ROOT : options.folder.c_str()) == 0)
    execv(arguments[0], arguments.data());
  _exit(126);
}

// Reads both pipes until the program has closed them.
void collect(Pipe& out, Pipe& err, Finished& finished) {
  std::array<pollfd, 2> ends{pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
  std::array<std::string*, 2> texts{&finished.out, &finished.err};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (poll(ends.data(), ends.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      std::array<char, 4096> part{};
      const ssize_t got = read(ends[i].fd, part.data(), part.size());
      if (got > 0)
        texts[i]->append(part.data(), static_cast<std::size_t>(got));
      else
        ends[i].fd = -1;
    }
  }
}

}  // namespace

Finished tapestry(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  const std::string program = program_path().string();
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);

  Pipe in, out, err;
  if (options.output_is_closed) out.close_read();
  const pid_t child = fork();
  if (child == 0) become_program(pointers, options, in, out, err);
  in.close_read();
  out.close_write();
  err.close_write();
  Finished finished;
  if (write(in.ends[1], options.input.data(), options.input.size()) < 0) finished.err = "no input";
  in.close_write();
  if (options.meanwhile) options.meanwhile(child);
  collect(out, err, finished);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) finished.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  return finished;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tapestry-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::filesystem::create_directories((folder_ / name).parent_path());
  std::ofstream(folder_ / name, std::ios::binary) << text;
  return path(name);
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace tapestry::tests
