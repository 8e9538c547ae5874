#include "sim/peak/fragmentation_blame.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include "sim/peak/blame_tracker.hpp"

namespace highwater {

void look_at_moment(const RequestTrace& trace, ReplayOptions options, std::size_t moment,
                    FragmentationBlame& blame) {
  BlameTracker tracker(moment);
  options.last_event = moment;
  options.observer = &tracker;
  options.listener = &tracker;
  options.decisions = DecisionDetail::none;
  replay(trace, options);
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

}  // namespace highwater
