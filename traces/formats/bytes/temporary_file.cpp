#include "traces/formats/bytes/temporary_file.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace highwater {
namespace {

/// Paths that a signal has to remove, each in memory of its own, because a handler may touch
/// nothing but atomics. Whoever takes a path out of its slot, the handler or the file, is alone
/// with it.
std::array<std::atomic<char*>, 64> g_paths{};
static_assert(std::atomic<char*>::is_always_lock_free);

/// A child between fork and exec has the handler, too, but not the files.
std::atomic<pid_t> g_process{0};

constexpr int kNoSlot = -1;

/// kNoSlot when all are taken: then only a signal leaves the file behind.
int register_path(const std::string& path) {
  char* const copy = ::strdup(path.c_str());
  for (std::size_t slot = 0; copy != nullptr && slot < g_paths.size(); ++slot) {
    char* free_slot = nullptr;
    if (g_paths[slot].compare_exchange_strong(free_slot, copy)) {
      return static_cast<int>(slot);
    }
  }
  std::free(copy);
  return kNoSlot;
}

void release_path(int slot) {
  if (slot != kNoSlot) {
    std::free(g_paths[static_cast<std::size_t>(slot)].exchange(nullptr));
  }
}

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// Whether a handler is at work.
std::atomic_flag g_ends;

void remove_all() {
  for (std::atomic<char*>& slot : g_paths) {
    if (const char* const path = slot.exchange(nullptr)) {
      ::unlink(path);
    }
  }
}

// One handler at a time: a second signal, in another thread, must not end the process before the
// first has removed everything. In this thread all four wait until the end of the handler.
void remove_all_and_end(int signal) {
  while (g_ends.test_and_set()) {
    ::pause();
  }
  if (::getpid() == g_process) {
    remove_all();
  }
  for (const int each : kSignals) {
    ::signal(each, SIG_DFL);
  }
  ::raise(signal);  // ends the process as without a handler
}

std::system_error system_failure() {
  return {errno, std::generic_category()};
}

std::string random_name() {
  std::array<std::uint64_t, 2> bits{};
  if (::getrandom(bits.data(), sizeof bits, 0) != sizeof bits) {
    throw system_failure();
  }
  return fmt::format(".highwater-{:016x}{:016x}.part", bits[0], bits[1]);
}

int create(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

}  // namespace

// Registered before it exists: a signal in between finds nothing to remove, which does no harm.
TemporaryFile::TemporaryFile(const std::filesystem::path& folder)
    : path_((folder / random_name()).string()),
      slot_(register_path(path_)),
      descriptor_(create(path_)) {
  if (descriptor_ < 0) {
    const std::system_error error = system_failure();
    release_path(slot_);
    throw error;
  }
}

TemporaryFile::~TemporaryFile() {
  if (!renamed_) {
    ::unlink(path_.c_str());
  }
  release_path(slot_);
}

void TemporaryFile::rename_to(const std::filesystem::path& target) {
  if (::rename(path_.c_str(), target.c_str()) != 0) {
    throw system_failure();
  }
  renamed_ = true;
}

void remove_temporary_files_on_signals() {
  g_process = ::getpid();
  for (const int signal : kSignals) {
    struct sigaction before {};

    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) {
      continue;
    }

    struct sigaction action {};

    action.sa_handler = remove_all_and_end;
    for (const int other : kSignals) {
      ::sigaddset(&action.sa_mask, other);
    }
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace highwater
