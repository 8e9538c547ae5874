// Work that whoever asked for it may end early: an interrupt of the Python module.
//
// The program itself ends by the signal. A loop that may take long asks every thousand turns.
#pragma once

#include <atomic>
#include <cstdint>

namespace highwater {

/// Thrown out of work that is no longer wanted. No std::exception: nobody but who cancelled is
/// meant to catch it.
struct Cancelled {};

/// Set by another thread.
using CancelFlag = std::atomic<bool>;

namespace detail {
inline thread_local const CancelFlag* cancel_flag = nullptr;
}  // namespace detail

/// What this thread obeys, for the threads that it starts; none as a rule.
inline const CancelFlag* cancel_flag() {
  return detail::cancel_flag;
}

/// This thread obeys `flag` from now to the end of the scope.
class CancelScope {
 public:
  explicit CancelScope(const CancelFlag* flag) : before_(detail::cancel_flag) {
    detail::cancel_flag = flag;
  }

  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  ~CancelScope() { detail::cancel_flag = before_; }

 private:
  const CancelFlag* before_;
};

/// @throws Cancelled
inline void stop_if_cancelled() {
  const CancelFlag* const flag = cancel_flag();
  if (flag != nullptr && flag->load(std::memory_order_relaxed)) {
    throw Cancelled{};
  }
}

/// The same in every 1024th of calls with consecutive numbers.
inline void stop_if_cancelled_at(std::uint64_t turn) {
  constexpr std::uint64_t kEvery = 1024;
  if (turn % kEvery == 0) {
    stop_if_cancelled();
  }
}

}  // namespace highwater
