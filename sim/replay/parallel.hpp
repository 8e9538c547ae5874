// Independent pieces of work on all cores, results by index: the order of the output does not
// depend on which thread finishes first.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "traces/cancellation.hpp"

namespace highwater {

/// Calls work(i) for every i below `count`, on as many threads as there are cores. The first
/// exception ends the work and is rethrown.
template <class Work>
void for_each_index(std::size_t count, Work work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto run = [&, flag = cancel_flag()] {
    const CancelScope scope(flag);
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
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t t = 0; t < std::min(cores, count); ++t) {
      threads.emplace_back(run);
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace highwater
