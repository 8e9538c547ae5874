#include "sim/recordings/fidelity.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "allocator/caching_allocator.hpp"
#include "allocator/size_policy.hpp"
#include "sim/recordings/playback_device.hpp"
#include "sim/replay/state_observer.hpp"
#include "sim/replay/trace_driver.hpp"
#include "sim/replay/usage_tracker.hpp"
#include "traces/cancellation.hpp"

namespace highwater {
namespace {

bool is_segment_entry(RecordedAction action) {
  return action == RecordedAction::segment_alloc || action == RecordedAction::segment_free ||
         action == RecordedAction::segment_map || action == RecordedAction::segment_unmap;
}

std::string describe(const RecordedEntry& entry) {
  return fmt::format("{} of {} ({} bytes) at {:#x}", to_string(entry.action), to_iec(entry.size),
                     entry.size.count(), entry.address.value());
}

template <class Block>
std::string describe_blocks(const std::vector<Block>& blocks) {
  std::string text;
  for (const Block& block : blocks) {
    text += fmt::format(" {:#x}:{}:{}:{}", block.address.value(), block.size.count(),
                        block.requested.count(), to_string(block.state));
  }
  return text;
}

/// With its blocks as address:size:requested:state.
std::string describe(const RecordedSegment& segment) {
  return fmt::format("a {} segment of pool {},{} on stream {} at {:#x}:{}",
                     segment.is_large ? "large" : "small", segment.pool.capture, segment.pool.user,
                     segment.stream, segment.address.value(), describe_blocks(segment.blocks));
}

std::string describe(const MapSegment& segment) {
  return fmt::format("a {} segment of pool {},{} on stream {}:{}",
                     segment.kind == PoolKind::large ? "large" : "small", segment.owner.capture,
                     segment.owner.user, segment.stream.value(), describe_blocks(segment.blocks));
}

class FidelityRun {
 public:
  FidelityRun(const RecordedDevice& device, const DerivedTrace& derived, const Settings& settings,
              const VersionPreset& version, DecisionDetail decisions, StateObserver* observer)
      : device_(&device),
        derived_(&derived),
        observer_(observer),
        answers_(device),
        allocator_(answers_, settings, version),
        driver_(derived.requests, allocator_),
        log_(driver_, observer == nullptr ? nullptr : observer->listener()) {
    restore_initial_state();
    if (decisions == DecisionDetail::keep) {
      allocator_.set_listener(&log_);
    } else if (observer != nullptr) {
      allocator_.set_listener(observer->listener());
    }
  }

  FidelityReplay run() {
    UsageTracker tracker(allocator_);
    if (observer_ != nullptr) {
      observer_->on_begin(allocator_, driver_);
    }
    auto possible = derived_->possible_empty_caches.begin();
    const ChunkedVector<Event>& events = derived_->requests.events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (possible != derived_->possible_empty_caches.end() && *possible == i) {
        decide_empty_cache(i);
        ++possible;
      }
      step(i);
      tracker.observe();
    }
    finish(tracker);
    return std::move(replay_);
  }

 private:
  void restore_initial_state() {
    for (const MapSegment& segment : derived_->initial.segments) {
      answers_.hold(segment.range());
    }
    const std::vector<BlockId> handles = allocator_.restore(derived_->initial);
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (derived_->initial_ids[i].has_value()) {
        driver_.set_handle(derived_->initial_ids[i], handles[i]);
      }
    }
  }

  /// Memory was released before the allocation behind event `i`. If the model would serve that
  /// from its cache, the allocation did not cause the release: the program emptied the cache. The
  /// same holds if the new segment would have fitted beside everything that was held.
  void decide_empty_cache(std::size_t i) {
    const ChunkedVector<Event>& events = derived_->requests.events;
    std::size_t allocation = i;
    while (events[allocation].kind != EventKind::alloc) {
      ++allocation;
    }
    const Event& next = events[allocation];
    if (allocator_.would_hit_cache(next.bytes(), next.stream) || fits_beside_all(allocation)) {
      begin(allocation);
      allocator_.empty_cache();
      replay_.empty_caches.push_back(i);
      show({.kind = EventKind::empty_cache}, AllocationStatus::ok);
    }
  }

  /// Whether the new memory of this allocation would have stayed below the recorded peak even if
  /// nothing had been released: then no shortage caused the release.
  [[nodiscard]] bool fits_beside_all(std::size_t event) {
    const Settings& settings = allocator_.settings();
    const bool releases_early =
        settings.garbage_collection_threshold > 0 || settings.max_split_size != kUnlimited;
    bool unmaps = false;
    Bytes gained;
    const EntryRange entries = derived_->entries_of(event);
    for (std::size_t e = entries.begin; e < entries.end; ++e) {
      const RecordedEntry& entry = device_->entries[e];
      if (entry.action == RecordedAction::segment_alloc ||
          entry.action == RecordedAction::segment_map) {
        gained += entry.size;
      }
      unmaps |= entry.action == RecordedAction::segment_unmap;
      if (entry.action == RecordedAction::oom) {
        return false;
      }
    }
    if (gained.count() == 0 || (releases_early && !unmaps)) {
      return false;  // it took a rim; or fixed segments went without a shortage of the device
    }
    // A limit is checked against a whole segment, even where fewer pages would do.
    const Bytes rounded = round_size(derived_->requests.events[event].bytes(), settings);
    gained = std::max(gained, segment_size(rounded, settings));
    return usage_of(allocator_.statistics()).reserved + gained <= peak_recorded_;
  }

  void begin(std::size_t event) {
    const EntryRange entries = derived_->entries_of(event);
    if (entries.begin < entries.end && entries.end > begun_) {
      begun_ = entries.end;
      check_snapshots(entries);
      answers_.begin(entries);
    }
  }

  void step(std::size_t i) {
    stop_if_cancelled_at(i);
    const Event& event = derived_->requests.events[i];
    begin(i);
    const std::uint64_t unexpected = answers_.unexpected();
    const AllocationStatus status = driver_.apply(event);
    replay_.result.counts.allocs += event.kind == EventKind::alloc ? 1U : 0U;
    replay_.result.counts.frees += event.kind == EventKind::free ? 1U : 0U;
    if (event.kind == EventKind::alloc || event.kind == EventKind::empty_cache) {
      settle_segments(i, answers_.unexpected() != unexpected);
    }
    if (event.kind == EventKind::alloc) {
      compare_allocation(i, status);
    }
    show(event, status);
  }

  void show(const Event& event, AllocationStatus status) {
    if (observer_ != nullptr) {
      observer_->on_state(event, status, allocator_, driver_);
    }
  }

  /// Carries out what the recording shows and the model did not do.
  void settle_segments(std::size_t event, bool made_up) {
    for (const std::size_t e : answers_.unmatched()) {
      const RecordedEntry& entry = device_->entries[e];
      diverge(e, [&] {
        return fmt::format("recorded {}, which the model did not do", describe(entry));
      });
      resync(entry);
    }
    if (made_up) {
      const std::size_t last = std::max<std::size_t>(derived_->entries_of(event).end, 1) - 1;
      diverge(last, [&] {
        return fmt::format(
            "the model allocated from the device or released memory to it where the recording has: "
            "{}",
            describe(device_->entries[last]));
      });
    }
  }

  /// Each correction searches all blocks, so their number is limited for files that differ
  /// everywhere.
  bool may_correct() {
    constexpr std::uint64_t kMaxCorrections = 2000;
    replay_.fidelity.corrections_stopped = ++corrections_tried_ > kMaxCorrections;
    return !replay_.fidelity.corrections_stopped;
  }

  void resync(const RecordedEntry& entry) {
    if (!may_correct()) {
      return;
    }
    const AddressRange segment{entry.address, entry.size};
    if (entry.action == RecordedAction::segment_alloc && !answers_.holds_any(segment)) {
      answers_.hold(segment);
      allocator_.add_segment(segment, StreamId{std::uint32_t{entry.stream}},
                             entry.size == kSmallBuffer ? PoolKind::small : PoolKind::large);
      ++replay_.fidelity.resyncs;
    } else if (entry.action == RecordedAction::segment_free &&
               allocator_.drop_segment(entry.address)) {
      answers_.drop(segment);
      ++replay_.fidelity.resyncs;
    }
  }

  void compare_allocation(std::size_t i, AllocationStatus status) {
    const Event& event = derived_->requests.events[i];
    const std::size_t e = derived_->entries_of(i).end - 1;
    const bool recorded_oom = device_->entries[e].action == RecordedAction::oom;
    if (recorded_oom) {
      note_oom(status, e);
      return;
    }
    if (event.value == 0) {
      return;
    }
    Fidelity& fidelity = replay_.fidelity;
    ++fidelity.alloc_addresses_compared;
    const Address recorded = derived_->addresses[event.allocation.index()];
    const BlockId block = driver_.handle(event.allocation);
    if (block.has_value() && allocator_.block(block).address == recorded) {
      ++fidelity.alloc_addresses_matched;
      return;
    }
    diverge(e, [&] {
      return fmt::format("recorded {}; the model {}", describe(device_->entries[e]),
                         block.has_value() ? fmt::format("put it at {:#x}",
                                                         allocator_.block(block).address.value())
                                           : "ran out of memory");
    });
    correct(event, block, recorded);
  }

  void note_oom(AllocationStatus status, std::size_t entry) {
    if (status == AllocationStatus::out_of_memory) {
      if (replay_.result.ooms.size() < ReplayResult::kMaxOomRecords) {
        replay_.result.ooms.push_back({driver_.operations() - 1, allocator_.last_out_of_memory()});
      }
    } else {
      diverge(entry, [] { return "the recording ran out of memory here, the model did not"; });
    }
  }

  void correct(const Event& event, BlockId block, Address recorded) {
    if (!block.has_value() || !may_correct()) {
      return;
    }
    const Address old = allocator_.block(block).address;
    const BlockId moved = allocator_.move_block(block, recorded);
    if (moved.has_value()) {
      driver_.set_handle(event.allocation, moved);
      ++replay_.fidelity.resyncs;
      if (PlaybackDevice::is_made_up(old)) {
        allocator_.drop_segment(old);
      }
    }
  }

  /// Earlier snapshot calls wrote the active bytes at that moment into the trace.
  void check_snapshots(EntryRange entries) {
    for (std::size_t e = entries.begin; e < entries.end; ++e) {
      if (device_->entries[e].action == RecordedAction::snapshot) {
        ++replay_.fidelity.snapshots_checked;
        const Bytes active = usage_of(allocator_.statistics()).active;
        replay_.fidelity.snapshots_matched += active == device_->entries[e].size ? 1U : 0U;
      }
    }
  }

  /// Only the first one is described, and a damaged file differs at every entry.
  template <class Describe>
  void diverge(std::size_t entry, const Describe& describe_it) {
    if (!replay_.fidelity.first_divergence) {
      replay_.fidelity.first_divergence = Divergence{entry, describe_it()};
    }
  }

  void finish(UsageTracker& tracker) {
    Fidelity& fidelity = replay_.fidelity;
    for (const RecordedEntry& entry : device_->entries) {
      fidelity.segment_events_recorded += is_segment_entry(entry.action) ? 1U : 0U;
    }
    fidelity.segment_events_matched = answers_.matched();
    fidelity.initial_blocks_doubtful = derived_->report.initial_blocks_doubtful;
    fidelity.peak_reserved_recorded = peak_recorded_;
    replay_.result.decisions = log_.take();
    replay_.result.operations = driver_.operations();
    replay_.result.refused_empty_caches = driver_.refused_empty_caches();
    summarise(allocator_, tracker, replay_.result);
    compare_final_segments();
  }

  void compare_final_segments() {
    std::map<Address, const MapSegment*> modelled;
    for (const MapSegment& segment : replay_.result.map.segments) {
      modelled[segment.address] = &segment;
    }
    Fidelity& fidelity = replay_.fidelity;
    for (const RecordedSegment& segment : device_->segments) {
      ++fidelity.final_segments_compared;
      const auto found = modelled.find(segment.address);
      const bool same = found != modelled.end() && is_same(segment, *found->second);
      fidelity.final_segments_matched += same ? 1U : 0U;
      if (!same) {
        diverge(device_->entries.size(), [&] {
          return fmt::format("after the last entry: recorded {}; the model has {}",
                             describe(segment),
                             found == modelled.end() ? "none there" : describe(*found->second));
        });
      }
      if (found != modelled.end()) {
        modelled.erase(found);
      }
    }
    fidelity.final_segments_compared += modelled.size();  // segments that only the model has
  }

  [[nodiscard]] static bool is_same(const RecordedSegment& recorded, const MapSegment& modelled) {
    return recorded.size == modelled.size && recorded.stream == modelled.stream.value() &&
           recorded.is_large == (modelled.kind == PoolKind::large) &&
           recorded.is_expandable == modelled.is_expandable && recorded.pool == modelled.owner &&
           std::ranges::equal(recorded.blocks, modelled.blocks,
                              [](const RecordedBlock& a, const MapBlock& b) {
                                return a.address == b.address && a.size == b.size &&
                                       a.state == b.state && a.requested == b.requested;
                              });
  }

  const RecordedDevice* device_;
  const DerivedTrace* derived_;
  StateObserver* observer_;
  PlaybackDevice answers_;
  CachingAllocator allocator_;
  TraceDriver driver_;
  DecisionLog log_;
  FidelityReplay replay_;
  Bytes peak_recorded_ = recorded_peak_reserved(*device_);
  std::size_t begun_ = 0;
  std::uint64_t corrections_tried_ = 0;
};

std::uint64_t matches(const Fidelity& fidelity) {
  return fidelity.segment_events_matched + fidelity.alloc_addresses_matched +
         fidelity.final_segments_matched;
}

}  // namespace

Bytes recorded_peak_reserved(const RecordedDevice& device) {
  Bytes reserved;
  for (const RecordedSegment& segment : device.segments) {
    reserved += segment.size;
  }
  Bytes peak = reserved;
  for (std::size_t i = device.entries.size(); i-- > 0;) {
    const RecordedEntry& entry = device.entries[i];
    if (entry.action == RecordedAction::segment_alloc ||
        entry.action == RecordedAction::segment_map) {
      reserved -= std::min(reserved, entry.size);
    } else if (entry.action == RecordedAction::segment_free ||
               entry.action == RecordedAction::segment_unmap) {
      reserved += entry.size;
      peak = std::max(peak, reserved);
    }
  }
  return peak;
}

FidelityReplay replay_as_recorded(const RecordedDevice& device, const DerivedTrace& derived,
                                  const Settings& settings, const VersionPreset& version,
                                  DecisionDetail decisions, StateObserver* observer) {
  const auto run = [&](const Settings& under, StateObserver* watching) {
    return FidelityRun(device, derived, under, version, decisions, watching).run();
  };
  if (settings.garbage_collection_threshold == 0) {
    return run(settings, observer);
  }
  // Garbage is collected only where a memory fraction was set, which most recordings do not show.
  Settings without = settings;
  without.garbage_collection_threshold = 0;
  FidelityReplay plain = run(without, nullptr);
  std::optional<FidelityReplay> collecting;
  if (!plain.fidelity.is_perfect() || plain.fidelity.resyncs != 0) {
    collecting = run(settings, nullptr);
  }
  const bool plain_wins = !collecting || matches(plain.fidelity) > matches(collecting->fidelity);
  if (observer != nullptr) {
    return run(plain_wins ? without : settings, observer);
  }
  return plain_wins ? std::move(plain) : std::move(*collecting);
}

}  // namespace highwater
