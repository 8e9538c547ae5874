#include "tools/fleet/ordered_delivery.hpp"

namespace highwater {

std::size_t OrderedDelivery::next() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

bool OrderedDelivery::has(std::size_t position) const {
  const std::lock_guard lock(mutex_);
  return position < next_ || waiting_.contains(position);
}

void OrderedDelivery::deliver(std::size_t position, PieceOutcome outcome) {
  const std::lock_guard lock(mutex_);
  if (position >= next_) {
    waiting_.try_emplace(position, std::move(outcome));
  }
  hand_on();
}

void OrderedDelivery::wait_and_deliver(std::size_t position, PieceOutcome outcome) {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return failure_ || position < next_ + window_; });
  waiting_.try_emplace(position, std::move(outcome));
  hand_on();
}

void OrderedDelivery::hand_on() {
  while (!failure_ && !waiting_.empty() && waiting_.begin()->first == next_) {
    PieceOutcome first = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    failure_ = first.failure;
    try {
      if (!failure_) {
        take_(next_, std::move(first.result));
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    ++next_;
  }
  moved_.notify_all();
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

}  // namespace highwater
