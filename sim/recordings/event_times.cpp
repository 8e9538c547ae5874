#include "sim/recordings/event_times.hpp"

#include <algorithm>
#include <utility>

namespace highwater {
namespace {

bool has_all_times(const RecordedDevice& device) {
  for (const RecordedEntry& entry : device.entries) {
    if (entry.time_us < 0) {
      return false;
    }
  }
  return !device.entries.empty();
}

/// The events before those of the recording: with_baseline allocates the initial blocks first.
std::size_t baseline_length(const RequestTrace& trace, const DerivedTrace& derived) {
  const auto& original = derived.requests.events;
  if (trace.events.size() <= original.size()) {
    return 0;
  }
  auto length = static_cast<std::size_t>(
      std::ranges::count_if(derived.initial_ids, [](AllocationId id) { return id.has_value(); }));
  for (const MapSegment& segment : derived.initial.segments) {
    length += segment.owner.is_default() ? 0U : 2U;  // its pool's session
  }
  return length;
}

}  // namespace

EventTimes::EventTimes(std::vector<std::int64_t> times) : times_(std::move(times)) {
  for (std::size_t i = 1; i < times_.size(); ++i) {
    times_[i] = std::max(times_[i], times_[i - 1]);
  }
}

EventTimes times_of(const RequestTrace& trace, const DerivedTrace& derived,
                    const RecordedDevice& device) {
  if (!has_all_times(device)) {
    return {};
  }
  const auto& original = derived.requests.events;
  const std::size_t first = baseline_length(trace, derived);
  std::vector<std::int64_t> times(trace.events.size(), device.entries[0].time_us);
  std::size_t next = 0;
  for (std::size_t i = first; i < times.size(); ++i) {
    times[i] = i == 0 ? times[i] : times[i - 1];
    if (next < original.size() && trace.events[i] == original[next]) {
      const std::size_t end = derived.entry_ends[next++];
      times[i] = end == 0 ? times[i] : device.entries[end - 1].time_us;
    }
  }
  return EventTimes(std::move(times));
}

}  // namespace highwater
