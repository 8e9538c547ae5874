// Follows memory from step to step through a replay, for memory_growth.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/replay/replay.hpp"
#include "sim/steps/memory_growth.hpp"

namespace highwater {

/// The usage of each step, the highest allocated before its end, and the frees that wait.
class GrowthTracker : public ReplayObserver, public DecisionListener {
 public:
  GrowthTracker(const RequestTrace& trace, const std::vector<StepSpan>& spans)
      : spans_(&spans), allocations_(trace.allocation_count) {}

  void on_decision(const Decision& decision) override;
  void on_event(const Event& event, AllocationStatus status, const Statistics& statistics) override;

  [[nodiscard]] std::vector<PendingFree> pending() const;

  /// By step: reserved at its end less the highest allocated of the run so far.
  [[nodiscard]] const std::vector<Bytes>& unexplained() const { return unexplained_; }

  std::vector<StepUsage> take_steps();

 private:
  void follow_free(const Event& event);
  void follow_step(AllocationStatus status, const Statistics& statistics);

  const std::vector<StepSpan>* spans_;
  std::vector<Event> allocations_;  ///< by AllocationId: the latest request
  std::vector<StepUsage> steps_;
  std::vector<Bytes> unexplained_;
  std::unordered_map<std::uint64_t, PendingFree> waiting_;  ///< by address
  std::optional<Address> requested_;  ///< freed by this operation and not completed so far
  Usage now_;
  Bytes highest_allocated_;
  std::int64_t retries_ = 0;         ///< of the whole run
  std::int64_t retries_before_ = 0;  ///< the same when the current step began
  std::size_t next_event_ = 0;
  std::uint64_t operations_ = 0;
  bool in_step_ = false;
};

}  // namespace highwater
