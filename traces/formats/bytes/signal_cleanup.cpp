#include "traces/formats/bytes/signal_cleanup.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace highwater {
namespace {

constexpr std::size_t kSlots = 64;
constexpr int kNoSlot = -1;

template <class T>
using Slots = std::array<std::atomic<T>, kSlots>;

/// Paths to remove, each in memory of its own, because a handler may touch nothing but atomics.
/// Whoever takes a path out of its slot, the handler or its owner, is alone with it.
Slots<char*> g_paths{};
Slots<pid_t> g_processes{};
static_assert(std::atomic<char*>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

/// A child between fork and exec has the handler, too, but nothing to clean up.
std::atomic<pid_t> g_process{0};

/// kNoSlot when all are taken: then only a signal leaves something behind.
template <class T>
int take_slot(Slots<T>& slots, T value) {
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    T nothing{};
    if (slots[slot].compare_exchange_strong(nothing, value)) {
      return static_cast<int>(slot);
    }
  }
  return kNoSlot;
}

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// Whether a handler is at work.
std::atomic_flag g_ends;

void clean_up() {
  for (std::atomic<pid_t>& slot : g_processes) {
    if (const pid_t process = slot.exchange(0); process != 0) {
      ::kill(process, SIGKILL);
    }
  }
  for (std::atomic<char*>& slot : g_paths) {
    if (const char* const path = slot.exchange(nullptr)) {
      remove_tree(path);
    }
  }
}

// One handler at a time: a second signal, in another thread, must not end the process before the
// first has removed everything. In this thread all four wait until the end of the handler.
void clean_up_and_end(int signal) {
  while (g_ends.test_and_set()) {
    ::pause();
  }
  if (::getpid() == g_process) {
    clean_up();
  }
  for (const int each : kSignals) {
    ::signal(each, SIG_DFL);
  }
  ::raise(signal);  // ends the process as without a handler
}

// Deeper folders stay. A killed process may write until it is gone, hence the further tries.
constexpr int kDeepest = 32;
constexpr int kTries = 20;
constexpr useconds_t kBetweenTries = 5000;

void remove_entry(int folder, const char* name, int depth);

/// Unlinks what the open folder holds.
void empty_folder(int folder, int depth) {
  alignas(dirent64) std::array<char, 4096> entries{};  // readdir() would take memory
  ::lseek(folder, 0, SEEK_SET);
  for (;;) {
    const long size = ::syscall(SYS_getdents64, folder, entries.data(), entries.size());
    if (size <= 0) {
      return;
    }
    for (long at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      const char* const name = static_cast<const char*>(entry->d_name);
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) {
        remove_entry(folder, name, depth);
      }
      at += entry->d_reclen;
    }
  }
}

void remove_folder(int parent, const char* name, int depth) {
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) {
    return;
  }
  for (int tried = 0; tried < kTries; ++tried) {
    empty_folder(folder, depth);
    if (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY) {
      break;
    }
    ::usleep(kBetweenTries);
  }
  ::close(folder);
}

void remove_entry(int folder, const char* name, int depth) {
  if (::unlinkat(folder, name, 0) != 0 && (errno == EISDIR || errno == EPERM) && depth != 0) {
    remove_folder(folder, name, depth - 1);
  }
}

}  // namespace

RemovedOnSignal::RemovedOnSignal(const std::string& path) : slot_(kNoSlot) {
  char* const copy = ::strdup(path.c_str());
  if (copy == nullptr) {
    return;
  }
  slot_ = take_slot(g_paths, copy);
  if (slot_ == kNoSlot) {
    std::free(copy);
  }
}

RemovedOnSignal::~RemovedOnSignal() {
  if (slot_ != kNoSlot) {
    std::free(g_paths[static_cast<std::size_t>(slot_)].exchange(nullptr));
  }
}

KilledOnSignal::KilledOnSignal(pid_t process) : slot_(take_slot(g_processes, process)) {}

KilledOnSignal::~KilledOnSignal() {
  if (slot_ != kNoSlot) {
    g_processes[static_cast<std::size_t>(slot_)].exchange(0);
  }
}

void remove_tree(const char* path) {
  if (::unlink(path) != 0 && (errno == EISDIR || errno == EPERM)) {
    remove_folder(AT_FDCWD, path, kDeepest);
  }
}

void clean_up_on_signals() {
  g_process = ::getpid();
  for (const int signal : kSignals) {
    struct sigaction before {};

    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) {
      continue;
    }

    struct sigaction action {};

    action.sa_handler = clean_up_and_end;
    for (const int other : kSignals) {
      ::sigaddset(&action.sa_mask, other);
    }
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace highwater
