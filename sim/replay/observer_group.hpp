// Several observers of one replay: what they find out costs one replay instead of one each.
#pragma once

#include <vector>

#include "sim/replay/replay.hpp"

namespace highwater {

/// Hands everything on, in the order in which they were added. They must outlive the group.
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

}  // namespace highwater
