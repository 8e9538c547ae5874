#include "tools/engine/python_process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "tools/record/argument_pointers.hpp"
#include "traces/error.hpp"
#include "traces/program_ban.hpp"

namespace highwater {
namespace {

using Clock = std::chrono::steady_clock;

/// Both ends of a pipe, closed with the object unless taken.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw InputError("pipe", "", std::strerror(errno), "close some programs");
    }
  }

  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  ~Pipe() {
    for (const int end : ends_) {
      if (end != -1) {
        close(end);
      }
    }
  }

  [[nodiscard]] int read_end() const { return ends_[0]; }

  [[nodiscard]] int write_end() const { return ends_[1]; }

  int take_read_end() { return std::exchange(ends_[0], -1); }

  int take_write_end() { return std::exchange(ends_[1], -1); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

}  // namespace

PythonProcess::PythonProcess(const std::vector<std::string>& command,
                             const std::map<std::string, std::string>& environment,
                             const std::string& log) {
  require_programs(command.front());
  Pipe questions;
  Pipe answers;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, questions.read_end(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, S_IRUSR | S_IWUSR);
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) {
    variables.push_back(name + "=" + value);
  }
  const int error =
      posix_spawnp(&process_, command.front().c_str(), &actions, nullptr,
                   argument_pointers(arguments).data(), argument_pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw InputError(command.front(), "", std::string("cannot be run: ") + std::strerror(error),
                     "give a Python with PyTorch by --python");
  }
  to_process_ = questions.take_write_end();
  from_process_ = answers.take_read_end();
}

PythonProcess::~PythonProcess() {
  end();
  close(from_process_);
}

void PythonProcess::end() {
  if (to_process_ == -1) {
    return;
  }
  close(std::exchange(to_process_, -1));  // at which it ends what it runs, and itself
  const auto patience = Clock::now() + std::chrono::seconds(2);
  while (waitpid(process_, nullptr, WNOHANG) == 0) {
    if (Clock::now() > patience) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
      return;
    }
    usleep(2000);
  }
}

void PythonProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  struct sigaction ignored = {};
  ignored.sa_handler = SIG_IGN;  // it may have ended: receive() finds out
  struct sigaction before = {};
  sigaction(SIGPIPE, &ignored, &before);
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = write(to_process_, text.data() + sent, text.size() - sent);
    if (count < 0 && errno != EINTR) {
      break;
    }
    sent += count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  sigaction(SIGPIPE, &before, nullptr);
}

std::string PythonProcess::receive() {
  std::array<char, 4096> buffer{};
  std::size_t end = 0;
  while ((end = unread_.find('\n')) == std::string::npos) {
    const ssize_t count = read(from_process_, buffer.data(), buffer.size());
    if (count == 0 || (count < 0 && errno != EINTR)) {
      return "";
    }
    unread_.append(buffer.data(), count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

}  // namespace highwater
