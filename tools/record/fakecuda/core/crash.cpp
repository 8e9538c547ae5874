#include "tools/record/fakecuda/core/crash.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <dlfcn.h>
#include <unistd.h>

namespace highwater::fakecuda {
namespace {

// Of Python's stable ABI (docs.python.org, C API: initialization, very high level layer).
using EnsureState = int (*)();
using RunString = int (*)(const char*);

constexpr std::array kFatal{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

std::atomic<const char*> g_statement{nullptr};
EnsureState g_ensure_state = nullptr;
RunString g_run_string = nullptr;

/// Strictly not allowed in a signal handler, but the process is lost anyway, and its recording with
/// it unless this works. An alarm ends it if a lock is held forever.
void last_act(int signal) {
  for (const int each : kFatal) {
    std::signal(each, SIG_DFL);
  }
  if (const char* const statement = g_statement.exchange(nullptr)) {
    std::signal(SIGALRM, SIG_DFL);
    alarm(kCrashSeconds);
    g_ensure_state();
    g_run_string(statement);
  }
  raise(signal);  // delivered when the handler returns
}

template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

void run_python_on_crash(const char* statement) {
  g_ensure_state = find<EnsureState>("PyGILState_Ensure");
  g_run_string = find<RunString>("PyRun_SimpleString");
  if (g_ensure_state == nullptr || g_run_string == nullptr) {
    return;
  }
  g_statement = statement;
  struct sigaction action = {};
  action.sa_handler = last_act;
  for (const int each : kFatal) {
    sigaction(each, &action, nullptr);
  }
}

}  // namespace highwater::fakecuda
