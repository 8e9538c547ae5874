// Everything `explain` says about one subject, as data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/oom/oom_explanation.hpp"
#include "sim/packing/lower_bound.hpp"
#include "sim/peak/blame.hpp"
#include "sim/peak/peak_profile.hpp"
#include "sim/steps/drift.hpp"
#include "tools/studies/subject.hpp"

namespace highwater {

/// What one place of the program has at the moment looked at.
struct SiteBytes {
  std::string site;
  Bytes bytes;
  std::uint64_t blocks = 0;
};

/// Steps of which less repeats are no steps that a trend could be seen in.
inline constexpr double kLeastStepConfidence = 0.2;

struct Explanation {
  Subject subject;
  /// Absent when the replay under the subject's settings and limits never runs out of memory.
  std::optional<OomExplanation> oom;
  /// The recording ran out of memory and a replay of its requests does so at the same request:
  /// then its counterfactuals hold. Absent for subjects that are no recordings out of memory.
  std::optional<bool> is_reproduced;
  std::vector<SiteBytes> holders;  ///< live bytes then, or at the peak of requested; largest first
  Blame blame;                     ///< its moment: the failure, or the peak of reserved
  std::vector<SiteBytes> pinned;   ///< free bytes pinned at that moment, by site; largest first
  FourBars bars;
  Steps steps;
  Drift drift;
  std::optional<Bytes> limit;  ///< that the drift is going for, if any is known

  /// Whether the steps are alike enough to speak of a trend; JSON has the figures in any case.
  [[nodiscard]] bool are_steps_sure() const { return steps.confidence >= kLeastStepConfidence; }
};

/// Takes some dozens of replays. @throws InputError as replay()
Explanation explain(Subject subject);

/// What is known of the memory around the allocator of `subject`.
DeviceKnowledge device_knowledge(const Subject& subject);

}  // namespace highwater
