#include "sim/recordings/event_times.hpp"

#include <algorithm>
#include <iterator>
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

/// The recorded times of one event after the other, never less than that of the event before.
class RecordedTimes {
 public:
  RecordedTimes(const RequestTrace& trace, const DerivedTrace& derived,
                const RecordedDevice& device)
      : trace_(&trace),
        derived_(&derived),
        device_(&device),
        // recorded_requests() allocates the initial blocks first.
        first_(trace.events.size() > derived.requests.events.size() ? older_block_events(derived)
                                                                    : 0),
        now_(device.entries[0].time_us) {}

  std::int64_t next() {
    const std::size_t i = event_++;
    const auto& original = derived_->requests.events;
    if (i >= first_ && taken_ < original.size() && trace_->events[i] == original[taken_]) {
      const std::size_t end = derived_->entry_ends[taken_++];
      now_ = end == 0 ? now_ : std::max(now_, device_->entries[end - 1].time_us);
    }
    return now_;
  }

 private:
  const RequestTrace* trace_;
  const DerivedTrace* derived_;
  const RecordedDevice* device_;
  std::size_t first_;
  std::size_t event_ = 0;
  std::size_t taken_ = 0;  ///< events of `derived_`
  std::int64_t now_;
};

}  // namespace

EventTimes times_of(const RequestTrace& trace, const DerivedTrace& derived,
                    const RecordedDevice& device) {
  std::vector<std::int64_t> times;
  if (has_all_times(device)) {
    times.reserve(trace.events.size());
    RecordedTimes recorded(trace, derived, device);
    std::generate_n(std::back_inserter(times), trace.events.size(),
                    [&] { return recorded.next(); });
  }
  return EventTimes(std::move(times));
}

OperationTimes operation_times(const RequestTrace& trace, const DerivedTrace& derived,
                               const RecordedDevice& device, std::size_t most) {
  OperationTimes result;
  if (!has_all_times(device) || trace.events.empty()) {
    return result;
  }
  RecordedTimes recorded(trace, derived, device);
  result.width = trace.events.size() / most + 1;
  std::uint64_t operation = 0;
  std::int64_t now = 0;
  for (const Event& event : trace.events) {
    now = recorded.next();
    if (event.is_operation() && operation++ % result.width == 0) {
      result.at.push_back(now);
    }
  }
  result.at.push_back(now);
  return result;
}

}  // namespace highwater
