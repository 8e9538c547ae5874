// Whether a training step does again what the step before it did, from the same state of the
// allocator: then it ends in that state, too, and no peak lies in it that was not reached before.
//
// Between the begins of two steps the state comes back if the images are equal (state_image.hpp),
// and the second step does again what the first did if its requests are the same: for allocations
// of its own that are numbered on, and for older ones that lie where those lay to which the first
// referred: the same, or what the first left. As much is left as was there before, so the second
// frees all of that. Rounds that are written once (traces/compact_trace.hpp) are part of the
// requests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.hpp"
#include "sim/replay/trace_driver.hpp"
#include "traces/compact_trace.hpp"

namespace highwater {

/// Allocations of a trace that are live, and where they lie.
using LiveAddresses = std::vector<std::pair<std::size_t, Address>>;

/// The events of a step, and what it allocates.
struct StepEvents {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t first = 0;              ///< allocation
  std::size_t next = 0;               ///< the first allocation behind the step
  std::vector<RepeatedRound> rounds;  ///< in it

  [[nodiscard]] bool makes(AllocationId id) const { return id.index() >= first; }
};

/// The steps of a trace, and before them what precedes the first.
inline std::vector<StepEvents> steps_of(const CompactTrace& compact) {
  std::vector<StepEvents> steps(1);
  std::size_t allocations = 0;
  for (std::size_t i = 0; i < compact.trace.events.size(); ++i) {
    const Event& event = compact.trace.events[i];
    if (event.kind == EventKind::step) {
      steps.back().end = i;
      steps.push_back({.begin = i, .first = allocations});
    }
    allocations += event.kind == EventKind::alloc ? 1U : 0U;
  }
  steps.back().end = compact.trace.events.size();
  auto step = steps.begin();
  for (const RepeatedRound& round : compact.rounds) {
    step = std::ranges::find_if(step, steps.end(),
                                [&](const StepEvents& each) { return round.begin < each.end; });
    step->rounds.push_back(round);
  }
  return steps;
}

/// The state in which a step begins.
struct StepBegin {
  std::optional<StateImage> image;
  LiveAddresses live;  ///< by allocation

  [[nodiscard]] std::optional<Address> address(AllocationId id) const {
    const auto found =
        std::ranges::lower_bound(live, id.index(), {}, &LiveAddresses::value_type::first);
    return found != live.end() && found->first == id.index() ? std::optional(found->second)
                                                             : std::nullopt;
  }
};

inline StepBegin step_begin(const CachingAllocator& allocator, const TraceDriver& driver,
                            const StepEvents& step) {
  StepBegin begin{.image = allocator.image()};
  for (std::size_t id = 0; begin.image && id < step.first; ++id) {
    const BlockId block = driver.handle(AllocationId{id});
    if (block.has_value()) {
      begin.live.emplace_back(id, allocator.block(block).address);
    }
  }
  return begin;
}

/// Two steps, one behind the other.
class StepPair {
 public:
  StepPair(const RequestTrace& trace, const StepEvents& first, const StepEvents& second)
      : trace_(trace), first_(first), second_(second) {}

  /// Whether the second does again what the first did, `from` so and then `again` so.
  [[nodiscard]] bool repeats(const StepBegin& from, const StepBegin& again) const {
    const std::size_t length = second_.end - second_.begin;
    if (!from.image || from.image != again.image || !is_as_long(length) || !has_same_rounds()) {
      return false;
    }
    for (std::size_t i = 0; i < length; ++i) {
      const Event& earlier = trace_.events[first_.begin + i];
      const Event& event = trace_.events[second_.begin + i];
      if (!asks_for_same(earlier, event) || !refers_to_same(earlier, event, from, again)) {
        return false;
      }
    }
    return true;
  }

  /// The allocation of the second that stands for one of the first.
  [[nodiscard]] AllocationId later(AllocationId id) const {
    return AllocationId{id.index() + second_.first - first_.first};
  }

 private:
  /// The last one may lack what prepares the next.
  [[nodiscard]] bool is_as_long(std::size_t length) const {
    const std::size_t of_first = first_.end - first_.begin;
    const bool is_last = second_.end == trace_.events.size();
    return length == of_first || (is_last && length < of_first);
  }

  /// Settings and pools are not part of the state.
  [[nodiscard]] static bool asks_for_same(const Event& earlier, const Event& event) {
    if (!earlier.is_operation()) {
      return !event.is_operation();
    }
    return earlier.kind == event.kind && earlier.value == event.value &&
           earlier.stream == event.stream && earlier.category == event.category &&
           earlier.equal_blocks() == event.equal_blocks() && (event.kind < EventKind::pool_begin);
  }

  [[nodiscard]] bool refers_to_same(const Event& earlier, const Event& event, const StepBegin& from,
                                    const StepBegin& again) const {
    if (!earlier.allocation.has_value() || !event.allocation.has_value()) {
      return earlier.allocation == event.allocation;
    }
    if (first_.makes(earlier.allocation)) {
      return event.allocation == later(earlier.allocation);
    }
    const bool is_left = first_.makes(event.allocation) && !second_.makes(event.allocation);
    return (is_left || event.allocation == earlier.allocation) &&
           from.address(earlier.allocation) == again.address(event.allocation);
  }

  /// What they number back is their own.
  [[nodiscard]] bool has_same_rounds() const {
    const auto is_same = [this](const RepeatedRound& earlier, const RepeatedRound& round) {
      const auto is_later = [this](const NumberedBack& a, const NumberedBack& b) {
        return first_.makes(a.to) && later(a.to) == b.to && later(a.from) == b.from &&
               a.count == b.count;
      };
      return earlier.begin - first_.begin == round.begin - second_.begin &&
             earlier.length() == round.length() && earlier.times == round.times &&
             std::ranges::equal(earlier.numbered_back, round.numbered_back, is_later);
    };
    return std::ranges::equal(first_.rounds, second_.rounds, is_same);
  }

  const RequestTrace& trace_;
  const StepEvents& first_;
  const StepEvents& second_;
};

}  // namespace highwater
