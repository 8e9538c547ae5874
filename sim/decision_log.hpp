// Keeps every decision of a replay together with the operation in which it was made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/decision.hpp"
#include "sim/replay_observer.hpp"
#include "sim/trace_driver.hpp"

namespace highwater {

struct NumberedDecision {
  std::uint64_t operation = 0;  ///< counted from 0, markers not counted
  Decision decision;
};

class DecisionLog : public DecisionListener {
 public:
  /// `driver` carries out the operations and must outlive the log's use.
  explicit DecisionLog(const TraceDriver& driver) : driver_(&driver) {}

  void on_decision(const Decision& decision) override {
    decisions_.push_back({driver_->operations(), decision});
  }

  [[nodiscard]] std::vector<NumberedDecision> take() { return std::move(decisions_); }

 private:
  const TraceDriver* driver_;
  std::vector<NumberedDecision> decisions_;
};

/// Hands decisions on to the log and to the observer of a replay, each only if it wants them.
class DecisionFork : public DecisionListener {
 public:
  /// Either may be null; those given must outlive the fork.
  DecisionFork(DecisionLog* log, ReplayObserver* observer)
      : log_(log),
        observer_(observer != nullptr && observer->wants_decisions() ? observer : nullptr) {}

  [[nodiscard]] bool is_needed() const { return log_ != nullptr || observer_ != nullptr; }

  void on_decision(const Decision& decision) override {
    if (log_ != nullptr) {
      log_->on_decision(decision);
    }
    if (observer_ != nullptr) {
      observer_->on_decision(decision);
    }
  }

 private:
  DecisionLog* log_;
  ReplayObserver* observer_;
};

/// "OP ACTION ADDRESS SIZE STREAM", the line of the conformance vectors' event files.
std::string decision_line(const NumberedDecision& decision,
                          const std::vector<std::uint64_t>& stream_handles);

}  // namespace highwater
