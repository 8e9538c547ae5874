#include "tools/record/child_process.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/record/argument_pointers.hpp"
#include "traces/error.hpp"
#include "traces/program_ban.hpp"

namespace highwater {
namespace {

std::atomic<pid_t> g_child{0};

void pass_on(int signal) {
  if (const pid_t child = g_child; child != 0) {
    kill(child, signal);
  }
}

/// Ending the script and writing its history can take minutes, and Python notices the signal only
/// between two of its own instructions.
void tell_of_interrupt(int) {
  constexpr std::string_view kText =
      "\nhighwater record: interrupted; the script ends now, then its recording is written\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
}

/// While it lives, only the child handles the keyboard's signals.
class SignalsForChild {
 public:
  SignalsForChild() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    struct sigaction told = {};
    told.sa_handler = tell_of_interrupt;
    sigaction(SIGINT, &told, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
    forward(SIGTERM, terminate_);
    forward(SIGHUP, hang_up_);
  }

  SignalsForChild(const SignalsForChild&) = delete;
  SignalsForChild& operator=(const SignalsForChild&) = delete;

  ~SignalsForChild() {
    g_child = 0;
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
    sigaction(SIGHUP, &hang_up_, nullptr);
  }

 private:
  /// An ignored signal stays ignored, for this process and the child: nohup relies on it.
  static void forward(int signal, struct sigaction& before) {
    struct sigaction forwarded = {};
    forwarded.sa_handler = pass_on;
    sigaction(signal, &forwarded, &before);
    if (before.sa_handler == SIG_IGN) {
      sigaction(signal, &before, nullptr);
    }
  }

  struct sigaction interrupt_ = {};
  struct sigaction quit_ = {};
  struct sigaction terminate_ = {};
  struct sigaction hang_up_ = {};
};

/// While it lives, signals to be passed on wait, because there is no child yet.
class SignalsHeldBack {
 public:
  SignalsHeldBack() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }

  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

  ~SignalsHeldBack() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  /// The original mask, which the child receives as well.
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_ = {};
};

/// Attributes and file actions of posix_spawn.
class SpawnPlan {
 public:
  SpawnPlan(ChildOutput output, const sigset_t& mask) {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    // Signals ignored here would stay ignored in the child.
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGQUIT);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setsigmask(&attributes_, &mask);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (output == ChildOutput::to_error_output) {
      posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
    }
  }

  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawnattr_t attributes_ = {};
  posix_spawn_file_actions_t actions_ = {};
};

/// Starts the child, which receives the signals from the start. @throws InputError
void start(const std::string& program, std::vector<std::string>& arguments,
           std::vector<std::string>& variables, ChildOutput output) {
  const SignalsHeldBack held;
  const SpawnPlan plan(output, held.before());
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, program.c_str(), plan.actions(), plan.attributes(),
                   argument_pointers(arguments).data(), argument_pointers(variables).data());
  if (error != 0) {
    throw InputError(program, "", std::string("cannot be run: ") + std::strerror(error),
                     "write the command as in a shell, e.g. -- python3 train.py");
  }
  g_child = child;
}

ProcessEnd wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return {.signal = WTERMSIG(status)};
  }
  return {.status = WEXITSTATUS(status)};
}

}  // namespace

ProcessEnd run_command_line(const std::vector<std::string>& command,
                            const std::map<std::string, std::string>& environment,
                            ChildOutput output) {
  require_programs(command.front());
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) {
    variables.push_back(name + "=" + value);
  }
  const SignalsForChild signals;
  start(command.front(), arguments, variables, output);
  return wait_for(g_child);
}

}  // namespace highwater
