// Everything `explain` says about one workload, as data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/oom/oom_explanation.hpp"
#include "sim/packing/lower_bound.hpp"
#include "sim/peak/fragmentation_blame.hpp"
#include "sim/peak/live_blocks.hpp"
#include "sim/steps/memory_growth.hpp"
#include "tools/studies/runs/workload.hpp"

namespace highwater {

/// What one place of the program holds: the same line reached through different callers.
using PlaceHolder = Holder<std::string>;

/// With less repetition than this, no trend can be seen in the steps.
inline constexpr double kLeastStepConfidence = 0.2;

struct Explanation {
  Workload workload;
  /// Absent when the replay under the workload's settings and limits never runs out of memory.
  std::optional<OomExplanation> oom;
  /// The recording ran out of memory and a replay of its requests does so at the same request:
  /// then its counterfactuals hold. Absent for workloads that are no recordings out of memory.
  std::optional<bool> is_reproduced;
  std::vector<PlaceHolder>
      holders;                      ///< live bytes then, or at the peak of requested; largest first
  FragmentationBlame blame;         ///< its moment: the failure, or the peak of reserved
  std::vector<PlaceHolder> pinned;  ///< free bytes pinned at that moment, by site; largest first
  FourBars bars;
  Steps steps;
  MemoryGrowth growth;
  std::optional<Bytes> limit;  ///< that the growth is going for, if any is known
  /// Of a plan that runs out of memory: changes of it with which it fits, in sentences. Whoever
  /// asks fills them in.
  std::vector<std::string> cures;

  /// Whether the steps are similar enough to speak of a trend; JSON has the figures in any case.
  [[nodiscard]] bool are_steps_sure() const { return steps.confidence >= kLeastStepConfidence; }
};

/// Takes some dozens of replays. @throws InputError as replay()
Explanation explain(Workload workload);

/// The same with the steps that steps_of() found before.
Explanation explain(Workload workload, Steps steps);

/// What is known of the memory around the allocator of `workload`.
DeviceKnowledge device_knowledge(const Workload& workload);

}  // namespace highwater
