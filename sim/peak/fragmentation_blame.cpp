#include "sim/peak/fragmentation_blame.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include "sim/peak/blame_tracker.hpp"

namespace highwater {
namespace {

void observe(const RequestTrace& trace, ReplayOptions options, BlameTracker& tracker) {
  options.observer = &tracker;
  options.listener = &tracker;
  options.decisions = DecisionDetail::none;
  replay(trace, options);
}

}  // namespace

void look_at_moment(const RequestTrace& trace, ReplayOptions options, std::size_t moment,
                    FragmentationBlame& blame) {
  BlameTracker tracker(moment);
  options.last_event = moment;
  observe(trace, options, tracker);
  const FragmentationBlame then = tracker.finish();
  blame.moment = moment;
  blame.pinned = then.pinned;
  blame.unused = then.unused;
  boost::unordered_flat_map<std::uint32_t, const PinnedMemory*> held;
  for (const PinningStack& stack : then.stacks) {
    held[stack.origin.value()] = &stack.held;
  }
  for (PinningStack& stack : blame.stacks) {
    if (const auto found = held.find(stack.origin.value()); found != held.end()) {
      stack.held.bytes = found->second->bytes;
      stack.held.active = found->second->active;
      stack.held.pinning_blocks = found->second->pinning_blocks;
    }
  }
}

FragmentationBlame blame_fragmentation(const RequestTrace& trace, const ReplayOptions& options,
                                       std::optional<std::size_t> moment) {
  BlameTracker tracker;
  observe(trace, options, tracker);
  FragmentationBlame blame = tracker.finish();
  look_at_moment(trace, options, moment.value_or(tracker.peak_event()), blame);
  return blame;
}

}  // namespace highwater
