#include "tools/engine/python_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "tools/engine/last_line.hpp"
#include "tools/record/argument_pointers.hpp"
#include "traces/cancellation.hpp"
#include "traces/program_ban.hpp"

namespace highwater {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kKeptPrints = std::size_t{16} << 10U;
constexpr std::size_t kPrintsAtOnce = std::size_t{128} << 10U;  // more than a pipe holds
constexpr std::size_t kLongestWords = 300;                      // of what is printed, in a message
constexpr int kMilliseconds = 100;  // between two looks at whether the wait is still wanted
constexpr timeval kLongestSend{.tv_sec = 60, .tv_usec = 0};

/// Two connected descriptors, closed with the object unless taken: first this program's, then the
/// other's.
class Ends {
 public:
  Ends() = default;
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  ~Ends() {
    for (const int end : ends_) {
      if (end != -1) {
        close(end);
      }
    }
  }

  [[nodiscard]] int* data() { return ends_.data(); }

  [[nodiscard]] int own() const { return ends_[0]; }

  [[nodiscard]] int other() const { return ends_[1]; }

  int take_own() { return std::exchange(ends_[0], -1); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

void require_descriptors(int result) {
  if (result != 0) {
    throw InputError("starting Python", "", std::strerror(errno), "close some programs");
  }
}

/// Its standard input is the conversation, its outputs are the prints.
class GuestActions {
 public:
  GuestActions(const Ends& conversation, const Ends& prints) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, conversation.other(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, prints.other(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, prints.other(), STDERR_FILENO);
  }

  GuestActions(const GuestActions&) = delete;
  GuestActions& operator=(const GuestActions&) = delete;

  ~GuestActions() { posix_spawn_file_actions_destroy(&actions_); }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
};

pid_t start_guest(const std::vector<std::string>& command,
                  const std::map<std::string, std::string>& environment,
                  const GuestActions& actions) {
  require_programs(command.front());
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) {
    variables.push_back(name + "=" + value);
  }
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, command.front().c_str(), actions.get(), nullptr,
                   argument_pointers(arguments).data(), argument_pointers(variables).data());
  if (error != 0) {
    throw InputError(command.front(), "", std::string("cannot be run: ") + std::strerror(error),
                     "give a Python with PyTorch by --python");
  }
  return process;
}

}  // namespace

PythonProcess::PythonProcess(const std::vector<std::string>& command,
                             const std::map<std::string, std::string>& environment)
    : name_(command.front()) {
  Ends conversation;
  Ends prints;
  require_descriptors(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, conversation.data()));
  require_descriptors(pipe2(prints.data(), O_CLOEXEC));
  fcntl(prints.own(), F_SETFL, O_NONBLOCK);
  setsockopt(conversation.own(), SOL_SOCKET, SO_SNDTIMEO, &kLongestSend, sizeof kLongestSend);
  process_ = start_guest(command, environment, GuestActions(conversation, prints));
  killed_.emplace(process_);
  conversation_ = conversation.take_own();
  prints_ = prints.take_own();
}

PythonProcess::~PythonProcess() {
  end();
  close(conversation_);
  if (prints_ != -1) {
    close(prints_);
  }
}

void PythonProcess::end() {
  if (process_ == 0) {
    return;
  }
  shutdown(conversation_, SHUT_WR);  // at which it ends what it runs, and itself
  const auto patience = Clock::now() + std::chrono::seconds(2);
  siginfo_t ended = {};
  while (waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0) {
    if (Clock::now() > patience) {
      kill(process_, SIGKILL);
      break;
    }
    usleep(2000);
  }
  reap();
  shutdown(conversation_, SHUT_RD);  // what it has left behind may hold the other end
}

/// A process that has been waited for is no longer this program's to kill.
void PythonProcess::reap() {
  siginfo_t ended = {};
  while (waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  killed_.reset();
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

void PythonProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count =
        ::send(conversation_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) {
      // It has ended or listens no more. Half a line must not become one with the next question.
      ::shutdown(conversation_, SHUT_RDWR);
      return;  // receive() finds out
    }
    sent += count < 0 ? 0 : static_cast<std::size_t>(count);
  }
}

std::optional<std::string> PythonProcess::receive(std::optional<std::chrono::seconds> limit) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    if (std::optional<std::string> line = take_line()) {
      return line;
    }
    stop_if_cancelled();
    if (limit && Clock::now() - begin > *limit) {
      throw failure(silence_of(*limit));
    }
    if (!hear()) {
      return std::nullopt;
    }
  }
}

std::optional<std::string> PythonProcess::take_line() {
  const std::size_t end = unread_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = unread_.size();
    if (searched_ > kLongestLine) {
      throw failure(fmt::format("sent an answer of more than {} MiB", kLongestLine >> 20U));
    }
    return std::nullopt;
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

/// Waits a moment for what it says or prints. False if it has ended.
bool PythonProcess::hear() {
  std::array<pollfd, 2> sources{
      {{.fd = conversation_, .events = POLLIN, .revents = 0},
       {.fd = prints_, .events = POLLIN, .revents = 0}}};  // -1, once closed, is passed over
  if (poll(sources.data(), sources.size(), kMilliseconds) <= 0) {
    return true;
  }
  if (sources[1].revents != 0) {
    hear_prints();
  }
  return sources[0].revents == 0 || hear_answer();
}

bool PythonProcess::hear_answer() {
  std::array<char, 4096> buffer{};
  const ssize_t count = recv(conversation_, buffer.data(), buffer.size(), 0);
  if (count == 0 || (count < 0 && errno != EINTR)) {
    hear_prints();  // what it said before it ended
    return false;
  }
  unread_.append(buffer.data(), count < 0 ? 0 : static_cast<std::size_t>(count));
  return true;
}

void PythonProcess::hear_prints() {
  std::array<char, 4096> buffer{};
  for (std::size_t heard = 0; prints_ != -1 && heard < kPrintsAtOnce;) {
    const ssize_t count = read(prints_, buffer.data(), buffer.size());
    if (count == 0) {
      close(std::exchange(prints_, -1));
    }
    if (count <= 0) {
      return;
    }
    heard += static_cast<std::size_t>(count);
    const std::lock_guard lock(lock_);
    printed_.append(buffer.data(), static_cast<std::size_t>(count));
    if (printed_.size() > 2 * kKeptPrints) {
      printed_.erase(0, printed_.size() - kKeptPrints);
    }
  }
}

std::string PythonProcess::last_words() const {
  const std::lock_guard lock(lock_);
  const std::string_view line = last_line(printed_);
  return std::string(line.substr(line.size() - std::min(line.size(), kLongestWords)));
}

InputError PythonProcess::failure(std::string_view problem) const {
  const std::string words = last_words();
  return {"--python " + name_, "",
          words.empty() ? std::string(problem)
                        : fmt::format("{}; the last that it printed: {}", problem, words),
          "name another Python by --python"};
}

OneAnswer ask_once(const std::vector<std::string>& command,
                   const std::map<std::string, std::string>& environment,
                   std::chrono::seconds limit) {
  const Clock::time_point begin = Clock::now();
  PythonProcess process(command, environment);
  OneAnswer answer;
  while (const std::optional<std::string> line = process.receive(limit)) {
    answer.text.append(*line).append(1, '\n');
    if (Clock::now() - begin > limit) {
      throw process.failure(silence_of(limit));
    }
    if (answer.text.size() > PythonProcess::kLongestLine) {
      throw process.failure("its answer has no end");
    }
  }
  process.end();
  answer.last_words = process.last_words();
  return answer;
}

std::string silence_of(std::chrono::seconds limit) {
  return fmt::format("no answer in {} s", limit.count());
}

}  // namespace highwater
