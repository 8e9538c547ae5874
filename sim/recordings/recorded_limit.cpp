#include "sim/recordings/recorded_limit.hpp"

#include <algorithm>

namespace highwater {

void bound_as_shown(const RecordedLimit& limit, ReplayOptions& options) {
  const bool is_device = limit.source == RecordedLimit::Source::device;
  (is_device ? options.capacity : options.memory_limit) = limit.at_least;
}

bool is_bound_as_shown(const RecordedLimit& limit, const ReplayOptions& options) {
  const bool is_device = limit.source == RecordedLimit::Source::device;
  return (is_device ? options.capacity : options.memory_limit) == limit.at_least;
}

std::optional<RecordedLimit> recorded_limit(const FidelityReplay& as_recorded) {
  if (as_recorded.result.ooms.empty()) {
    return std::nullopt;
  }
  // Later failures may have met another free memory of the device: the first one is explained.
  const OutOfMemory& oom = as_recorded.result.ooms.front().account;
  if (oom.segment_size >= kUnlimited - oom.reserved) {
    return std::nullopt;  // not a plausible size: the file is damaged
  }
  RecordedLimit limit;
  limit.below = oom.reserved + oom.segment_size;
  if (oom.device_free < oom.segment_size) {
    limit.source = RecordedLimit::Source::device;
    limit.at_least = oom.reserved + oom.device_free;
  } else {
    limit.source = RecordedLimit::Source::fraction;
    limit.at_least =
        std::clamp(as_recorded.result.peak.reserved, oom.reserved, limit.below - Bytes{1});
  }
  return limit;
}

}  // namespace highwater
