#include "sim/recordings/recorded_limit.hpp"

#include <algorithm>

namespace highwater {

namespace {

bool is_of_device(const RecordedLimit& limit) {
  return limit.source != RecordedLimit::Source::fraction;
}

}  // namespace

void bound_as_shown(const RecordedLimit& limit, ReplayOptions& options) {
  (is_of_device(limit) ? options.capacity : options.memory_limit) = limit.at_least;
}

bool is_bound_as_shown(const RecordedLimit& limit, const ReplayOptions& options) {
  return (is_of_device(limit) ? options.capacity : options.memory_limit) == limit.at_least;
}

std::optional<RecordedLimit> recorded_limit(std::optional<Bytes> noted,
                                            const FidelityReplay& as_recorded) {
  if (noted) {
    return RecordedLimit{RecordedLimit::Source::noted, *noted, *noted + Bytes{1}};
  }
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
