// Keeps every decision of a replay together with the operation in which it was made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/decision.hpp"
#include "sim/replay/trace_driver.hpp"

namespace highwater {

struct NumberedDecision {
  std::uint64_t operation = 0;  ///< counted from 0, markers not counted
  Decision decision;
};

class DecisionLog : public DecisionListener {
 public:
  /// `driver` carries out the operations; `next`, if any, receives every decision, too. Both must
  /// outlive the log's use.
  explicit DecisionLog(const TraceDriver& driver, DecisionListener* next = nullptr)
      : driver_(&driver), next_(next) {}

  void on_decision(const Decision& decision) override {
    decisions_.push_back({driver_->operations(), decision});
    if (next_ != nullptr) {
      next_->on_decision(decision);
    }
  }

  [[nodiscard]] std::vector<NumberedDecision> take() { return std::move(decisions_); }

 private:
  const TraceDriver* driver_;
  DecisionListener* next_;
  std::vector<NumberedDecision> decisions_;
};

/// "OP ACTION ADDRESS SIZE STREAM", the line of the conformance vectors' event files.
std::string decision_line(const NumberedDecision& decision,
                          const std::vector<std::uint64_t>& stream_handles);

}  // namespace highwater
