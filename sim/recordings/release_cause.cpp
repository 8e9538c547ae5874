#include "sim/recordings/release_cause.hpp"

#include "allocator/size_policy.hpp"

namespace highwater {
namespace {

template <class Predicate>
bool any_of(const EntriesBefore& released, const Predicate& predicate) {
  for (std::size_t i = released.begin; i < released.end; ++i) {
    if (predicate(released.device.entries[i])) {
      return true;
    }
  }
  return false;
}

/// Whether a free segment of the large pool of this size is handed out for a request.
bool serves(Bytes segment, Bytes rounded, const Settings& settings) {
  if (pool_kind(rounded) != PoolKind::large || segment < rounded) {
    return false;
  }
  return rounded < settings.max_split_size
             ? segment < settings.max_split_size
             : segment < rounded + settings.max_non_split_rounding_size;
}

/// Whether the search would have found the block that was freed last.
bool would_have_served(const RecordedEntry& freed, Bytes rounded, const RecordedEntry& allocation,
                       const Settings& settings) {
  const Bytes size = round_size(freed.size, settings);
  const bool was_in_reach = freed.stream == allocation.stream && freed.pool == allocation.pool &&
                            pool_kind(size) == pool_kind(rounded);
  return was_in_reach && size >= rounded && size < settings.max_split_size;
}

}  // namespace

bool leaves_rim(const EntriesBefore& released, const RecordedEntry& allocation,
                const Settings& settings) {
  return any_of(released, [&](const RecordedEntry& entry) {
    return entry.action == RecordedAction::segment_unmap && entry.stream == allocation.stream &&
           allocation.address < entry.address &&
           entry.address - allocation.address < settings.large_segment_size;
  });
}

bool was_waited_for(const EntriesBefore& released, const RecordedEntry& freed,
                    const RecordedEntry& allocation, const Settings& settings) {
  const Bytes rounded = round_size(allocation.size, settings);
  if (would_have_served(freed, rounded, allocation, settings)) {
    return true;
  }
  return any_of(released, [&](const RecordedEntry& entry) {
    if (entry.stream != allocation.stream || entry.pool != allocation.pool ||
        freed.stream != allocation.stream) {
      return false;
    }
    const bool is_inside = AddressRange{entry.address, entry.size}.contains(freed.address);
    const bool got_rim = freed.address <= allocation.address && allocation.address < entry.address;
    return entry.action == RecordedAction::segment_free
               ? is_inside && serves(entry.size, rounded, settings)
               : entry.action == RecordedAction::segment_unmap && got_rim &&
                     leaves_rim(released, allocation, settings);
  });
}

bool released_only_by_waiting(const EntriesBefore& released, const RecordedEntry& allocation,
                              const Settings& settings) {
  const bool collects = settings.garbage_collection_threshold > 0;
  const Bytes rounded = round_size(allocation.size, settings);
  return any_of(released, [&](const RecordedEntry& entry) {
    // A cached block of another stream, or of another pool, is none that the search looked at.
    const bool was_in_reach = entry.stream == allocation.stream && entry.pool == allocation.pool;
    const bool is_oversize = entry.size >= settings.max_split_size && was_in_reach;
    return entry.action == RecordedAction::segment_free &&
           (entry.size == kSmallBuffer || (!collects && !is_oversize) ||
            (was_in_reach && serves(entry.size, rounded, settings)));
  });
}

}  // namespace highwater
