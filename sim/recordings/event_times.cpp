#include "sim/recordings/event_times.hpp"

#include <algorithm>
#include <utility>

#include "sim/recordings/recorded_requests.hpp"

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
  // recorded_requests() allocates the initial blocks first.
  const std::size_t first = trace.events.size() > original.size() ? older_block_events(derived) : 0;
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

OperationTimes operation_times(const RequestTrace& trace, const EventTimes& times,
                               std::size_t most) {
  OperationTimes result;
  if (!times.are_recorded()) {
    return result;
  }
  result.width = trace.events.size() / most + 1;
  std::uint64_t operation = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].is_operation() && operation++ % result.width == 0) {
      result.at.push_back(times.of(i));
    }
  }
  result.at.push_back(times.of(trace.events.size()));
  return result;
}

}  // namespace highwater
