// Two observers of one replay: looking at two things takes one replay, not two.
#pragma once

#include "sim/replay/state_observer.hpp"

namespace highwater {

/// Decisions go to the first one only.
class ObserverPair : public StateObserver {
 public:
  /// Both must outlive the pair.
  ObserverPair(StateObserver& first, StateObserver& second) : first_(&first), second_(&second) {}

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    first_->on_begin(allocator, driver);
    second_->on_begin(allocator, driver);
  }

  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override {
    first_->on_state(event, status, allocator, driver);
    second_->on_state(event, status, allocator, driver);
  }

  [[nodiscard]] DecisionListener* listener() override { return first_->listener(); }

 private:
  StateObserver* first_;
  StateObserver* second_;
};

}  // namespace highwater
