// Independent pieces of work on all cores, results by index: the order of the output does not
// depend on which thread finishes first. The pieces of a command, which other processes may carry
// out, are above this: tools/fleet.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <sched.h>
#include <thread>
#include <utility>
#include <vector>

#include "traces/cancellation.hpp"
#include "traces/program_ban.hpp"

namespace highwater {

namespace detail {
inline std::atomic<std::size_t> thread_limit = 0;
inline thread_local std::size_t own_thread_limit = 0;
}  // namespace detail

/// While it lives, what this thread starts uses no more threads than that; 0: as without it.
class ThreadLimitScope {
 public:
  explicit ThreadLimitScope(std::size_t most)
      : before_(std::exchange(detail::own_thread_limit, most)) {}

  ThreadLimitScope(const ThreadLimitScope&) = delete;
  ThreadLimitScope& operator=(const ThreadLimitScope&) = delete;

  ~ThreadLimitScope() { detail::own_thread_limit = before_; }

 private:
  std::size_t before_;
};

/// From now on no more threads than that at a time: one, where there is a process for each core.
inline void limit_threads(std::size_t most) {
  detail::thread_limit = most;
}

/// Cores that this process may run on: a launcher binds each of its processes to some.
inline std::size_t core_count() {
  if (detail::own_thread_limit != 0) {
    return detail::own_thread_limit;
  }
  if (const std::size_t limit = detail::thread_limit; limit != 0) {
    return limit;
  }
  ::cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool is_known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  return std::max<std::size_t>(1, is_known ? static_cast<std::size_t>(CPU_COUNT(&allowed))
                                           : std::thread::hardware_concurrency());
}

/// Calls work(i) for every i below `count`, on as many threads as there are cores. The first
/// exception ends the work and is rethrown.
template <class Work>
void for_each_index(std::size_t count, Work work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto run = [&, flag = cancel_flag(), most = detail::own_thread_limit,
                    banned_by = program_ban()] {
    const CancelScope scope(flag);
    const ProgramBan ban(banned_by);
    const ThreadLimitScope limit(most);
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(failure_lock);
        failure = failure ? failure : std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < std::min(core_count(), count); ++t) {
      threads.emplace_back(run);
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace highwater
