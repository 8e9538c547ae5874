// Several observers of one replay: what they find out costs one replay instead of one each.
#pragma once

#include <vector>

#include "sim/replay/replay.hpp"
#include "sim/replay/state_observer.hpp"

namespace highwater {

/// Observers of a replay(): they see counters, and decisions. Everything is handed on in the order
/// in which they were added; they must outlive the group.
class ObserverGroup : public ReplayObserver, public DecisionListener {
 public:
  /// `Observer` both observes and listens.
  template <class Observer>
  void add(Observer& observer) {
    observers_.push_back(&observer);
    listeners_.push_back(&observer);
  }

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    for (ReplayObserver* const observer : observers_) {
      observer->on_begin(allocator, driver);
    }
  }

  void on_event(const Event& event, AllocationStatus status,
                const Statistics& statistics) override {
    for (ReplayObserver* const observer : observers_) {
      observer->on_event(event, status, statistics);
    }
  }

  void on_decision(const Decision& decision) override {
    for (DecisionListener* const listener : listeners_) {
      listener->on_decision(decision);
    }
  }

 private:
  std::vector<ReplayObserver*> observers_;
  std::vector<DecisionListener*> listeners_;
};

/// The same for replays that show the whole state.
class StateObserverGroup : public StateObserver, public DecisionListener {
 public:
  void add(StateObserver& observer) {
    observers_.push_back(&observer);
    if (DecisionListener* const listener = observer.listener()) {
      listeners_.push_back(listener);
    }
  }

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    for (StateObserver* const observer : observers_) {
      observer->on_begin(allocator, driver);
    }
  }

  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override {
    for (StateObserver* const observer : observers_) {
      observer->on_state(event, status, allocator, driver);
    }
  }

  void on_decision(const Decision& decision) override {
    for (DecisionListener* const listener : listeners_) {
      listener->on_decision(decision);
    }
  }

  [[nodiscard]] DecisionListener* listener() override {
    return listeners_.empty() ? nullptr : this;
  }

 private:
  std::vector<StateObserver*> observers_;
  std::vector<DecisionListener*> listeners_;
};

}  // namespace highwater
