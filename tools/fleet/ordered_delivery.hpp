// Results that are ready in any order, handed on in theirs.
//
// Few wait at a time: whoever has one that is too far ahead waits until those before it have come,
// so memory does not grow with the number of pieces.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace highwater {

/// What a piece came to: its result, or what it threw.
struct PieceOutcome {
  std::string result;
  std::exception_ptr failure = nullptr;
};

class OrderedDelivery {
 public:
  using Take = std::function<void(std::size_t position, std::string&& result)>;

  static constexpr std::size_t kWindow = 4096;

  explicit OrderedDelivery(Take take, std::size_t window = kWindow)
      : take_(std::move(take)), window_(window) {}

  /// Hands `outcome` and those that follow it on when all before it have come; what was there
  /// before is left as it is. @throws the first failure in the order of the pieces, and from then
  /// on always
  void deliver(std::size_t position, PieceOutcome outcome);

  /// The same, but waits first while `position` is too far ahead.
  void wait_and_deliver(std::size_t position, PieceOutcome outcome);

  /// All before this one have been handed on.
  [[nodiscard]] std::size_t next() const;

  /// Whether it has come.
  [[nodiscard]] bool has(std::size_t position) const;

  /// One past the last position that may be worked on.
  [[nodiscard]] std::size_t limit() const { return next() + window_; }

 private:
  void hand_on();

  Take take_;
  std::size_t window_;
  mutable std::mutex mutex_;
  std::condition_variable moved_;
  std::size_t next_ = 0;
  std::map<std::size_t, PieceOutcome> waiting_;
  std::exception_ptr failure_;
};

}  // namespace highwater
