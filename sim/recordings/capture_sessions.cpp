#include "sim/recordings/capture_sessions.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "traces/capture_names.hpp"

namespace highwater {
namespace {

/// Follows the segments of the common pools, expandable ones left out, for those that are free as a
/// whole.
class CachedSegments {
 public:
  void follow(const RecordedEntry& entry, bool is_private) {
    switch (entry.action) {
      case RecordedAction::segment_alloc:
        if (!is_private) {
          segments_[entry.address] = {entry.size, 0};
        }
        break;
      case RecordedAction::segment_free:
        segments_.erase(entry.address);
        break;
      case RecordedAction::alloc:
        count(entry.address, 1);
        break;
      case RecordedAction::free_completed:
        count(entry.address, -1);
        break;
      default:
        break;
    }
  }

  /// No block of it is in use or waits for a stream.
  [[nodiscard]] bool any_is_free() const {
    return std::ranges::any_of(segments_, [](const auto& each) { return each.second.used == 0; });
  }

 private:
  struct Segment {
    Bytes size;
    int used = 0;  ///< blocks
  };

  void count(Address address, int change) {
    const auto above = segments_.upper_bound(address);
    if (above == segments_.begin()) {
      return;
    }
    auto& [begin, segment] = *std::prev(above);
    segment.used += address - begin < segment.size ? change : 0;
  }

  std::map<Address, Segment> segments_;
};

/// Pools {0,n} whose requests failed while a release of cached memory had something to release.
std::set<PoolId> pools_that_held_back(const RecordedDevice& device) {
  std::set<PoolId> found;
  CachedSegments cached;
  for (const RecordedEntry& entry : device.entries) {
    const PoolId pool = device.pools[entry.pool];
    if (entry.action == RecordedAction::oom && !pool.is_default() && cached.any_is_free()) {
      found.insert(pool);
    }
    cached.follow(entry, !pool.is_default());
  }
  return found;
}

}  // namespace

CaptureSessions::CaptureSessions(const Recording& recording, const RecordedDevice& device) {
  std::vector<std::pair<std::uint64_t, int>> changes;
  for (const Annotation& annotation : recording.annotations) {
    const bool begins = annotation.name == kCaptureBegins;
    if (annotation.entry && annotation.device == device.index &&
        (begins || annotation.name == kCaptureEnds)) {
      changes.emplace_back(*annotation.entry, begins ? 1 : -1);
    }
  }
  std::ranges::stable_sort(changes, {}, &std::pair<std::uint64_t, int>::first);
  std::size_t open = 0;
  for (const auto& [entry, change] : changes) {
    open = change > 0 ? open + 1 : open - std::min<std::size_t>(open, 1);
    marks_.push_back({entry, open});
  }
  if (marks_.empty()) {
    captured_ = pools_that_held_back(device);
  }
}

SessionKind CaptureSessions::kind_of(PoolId pool, std::size_t index) const {
  const bool is_captured = pool.capture != 0 || captured_.contains(pool) || is_marked_at(index);
  return is_captured && !pool.is_default() ? SessionKind::capture : SessionKind::routed;
}

bool CaptureSessions::is_marked_at(std::size_t index) const {
  const auto later = std::ranges::upper_bound(marks_, index, {}, &Change::entry);
  return later != marks_.begin() && std::prev(later)->open > 0;
}

bool CaptureSessions::is_marked_around(std::size_t index) const {
  const auto here = std::ranges::lower_bound(marks_, index, {}, &Change::entry);
  return is_marked_at(index) && (here == marks_.end() || here->entry != index);
}

}  // namespace highwater
