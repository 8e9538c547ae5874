#include "sim/recordings/derivation.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "sim/recordings/allocator_calls.hpp"
#include "sim/recordings/capture_sessions.hpp"
#include "sim/recordings/derivation_end.hpp"
#include "sim/recordings/older_blocks.hpp"
#include "sim/recordings/pool_evidence.hpp"
#include "sim/recordings/recorded_markers.hpp"
#include "sim/recordings/recorded_settings.hpp"
#include "sim/recordings/release_cause.hpp"
#include "sim/recordings/request_log.hpp"
#include "traces/error.hpp"
#include "traces/release.hpp"

namespace highwater {
namespace {

/// Streams that stand for "the other streams" of one deferred free each; reused when done.
class SyntheticStreams {
 public:
  explicit SyntheticStreams(std::size_t first) : next_(first) {}

  StreamId take() {
    if (unused_.empty()) {
      return StreamId{next_++};
    }
    const StreamId stream = unused_.back();
    unused_.pop_back();
    return stream;
  }

  void give_back(StreamId stream) { unused_.push_back(stream); }

  [[nodiscard]] std::size_t end() const { return next_; }

 private:
  std::size_t next_;
  std::vector<StreamId> unused_;
};

bool releases_memory(RecordedAction action) {
  return action == RecordedAction::segment_free || action == RecordedAction::segment_unmap;
}

/// empty_cache waits for other streams and releases memory, and does nothing else. A snapshot may
/// have been taken before it: notes have their place among the entries that are counted.
bool may_be_of_empty_cache(RecordedAction action) {
  return releases_memory(action) || action == RecordedAction::free_completed ||
         action == RecordedAction::snapshot;
}

class Derivation {
 public:
  Derivation(const Recording& recording, const RecordedDevice& device, const Settings& settings,
             std::vector<Marker> markers)
      : device_(&device),
        settings_(&settings),
        open_pool_(preset_of(recording).open_pool),
        calls_(recording, device.index),
        captures_(recording, device),
        log_(device, std::move(markers)),
        synthetic_(device.stream_handles.size()) {
    log_.trace.pools = pool_options(device, calls_, settings);
  }

  DerivedTrace run() {
    for (const OlderBlock& block : older_pending_blocks(*device_)) {
      defer_older(block);
    }
    for (std::size_t i = 0; i < device_->entries.size(); ++i) {
      pass_markers(i);
      if (log_.call() && !may_be_of(*log_.call(), device_->entries[i])) {
        settle_call();
      }
      i = walk(i);
    }
    pass_markers(device_->entries.size());
    log_.call() ? settle_call() : settle_releases();
    log_.close_session();
    finish_derivation({*device_, *settings_, live_, std::move(older_), synthetic_.end(), calls_},
                      log_);
    return std::move(log_.trace);
  }

 private:
  /// A private pool of which segments were released, and where the entries of these end.
  struct ReleasedPool {
    PoolId pool;
    std::size_t end = 0;
  };

  /// Memory entries since the last operation, which belong to the next one.
  struct Pending {
    bool releases = false;
    bool unmaps = false;  ///< pages among what was released
    bool gains = false;
    bool maps = false;                ///< pages among what was gained
    std::vector<StreamId> first;      ///< synthetic streams completed before any memory entry
    std::vector<StreamId> between;    ///< those completed after one
    std::vector<ReleasedPool> pools;  ///< private ones among what was released, in order
    bool releases_others = false;     ///< of the default pool, or pools in turns

    [[nodiscard]] bool completes() const { return !first.empty() || !between.empty(); }
  };

  /// Whether the call may have released the entry's memory, or seen its block completed: of any
  /// pool, since what was freed during a capture returns with the next call.
  [[nodiscard]] bool may_be_of(const Marker& call, const RecordedEntry& entry) const {
    const bool is_others = call.event.kind == EventKind::pool_release &&
                           releases_memory(entry.action) && log_.pool_at(entry) != call.pool;
    return !is_others && may_be_of_empty_cache(entry.action);
  }

  /// A call is over where the next marker lies behind it.
  void pass_markers(std::size_t i) {
    log_.emit_markers_until(i);
    while (log_.has_markers_until(i)) {
      settle_call();
      log_.emit_markers_until(i);
    }
  }

  /// Handles the entry at `i`; returns the index of the last entry it used.
  std::size_t walk(std::size_t i) {
    const RecordedEntry& entry = device_->entries[i];
    consumed_ = i + 1;
    switch (entry.action) {
      case RecordedAction::alloc:
      case RecordedAction::oom:
        allocation(entry);
        break;
      case RecordedAction::free_requested:
        return requested_free(i);
      case RecordedAction::free_completed:
        completed_free(entry);
        break;
      case RecordedAction::segment_alloc:
      case RecordedAction::segment_map:
        pending_.gains = true;
        pending_.maps |= entry.action == RecordedAction::segment_map;
        break;
      case RecordedAction::segment_free:
      case RecordedAction::segment_unmap:
        if (pending_.gains && !pending_.maps) {
          settle_releases();  // should not happen: kept apart so that an odd file stays readable
        }
        pending_.releases = true;  // pages may have been mapped before the device had no more
        pending_.unmaps |= entry.action == RecordedAction::segment_unmap;
        note_released(entry);
        break;
      case RecordedAction::snapshot:
        break;
      case RecordedAction::ignored:
        ++log_.trace.report.entries_dropped;
        break;
    }
    return i;
  }

  void note_released(const RecordedEntry& entry) {
    const PoolId pool = log_.pool_at(entry);
    const auto known = std::ranges::find(pending_.pools, pool, &ReleasedPool::pool);
    if (pool.is_default()) {
      pending_.releases_others = true;
    } else if (known == pending_.pools.end()) {
      pending_.pools.push_back({pool, consumed_});
    } else {
      pending_.releases_others |= known + 1 != pending_.pools.end();
      known->end = consumed_;
    }
  }

  /// Nothing but the memory of private pools: these were given up. A release of all cached memory
  /// would have shown in others, or made no difference.
  [[nodiscard]] bool gives_up_pools() const {
    const auto has_users = [this](const ReleasedPool& each) { return log_.has_users(each.pool); };
    return !log_.call() && !calls_.are_exact() && !pending_.pools.empty() &&
           !pending_.releases_others && std::ranges::all_of(pending_.pools, has_users);
  }

  void allocation(const RecordedEntry& entry) {
    const bool failed = entry.action == RecordedAction::oom;
    const std::vector<StreamId> waited_for = settle_before_allocation(entry);
    const PoolId pool = failed ? pool_of_failure(entry) : log_.pool_at(entry);
    log_.switch_session(pool, captures_.kind_of(pool, consumed_ - 1));
    log_.trace.report.failed_requests += failed ? 1U : 0U;
    Event event;
    event.kind = EventKind::alloc;
    event.value = entry.size.count();
    event.stream = StreamId{std::uint32_t{entry.stream}};
    event.stack = entry.stack;
    event.allocation = log_.new_allocation(failed ? Address{} : entry.address);
    if (!failed) {
      release_live(entry.address);
      live_[entry.address.value()] = {event.allocation, StreamId::none()};
    }
    log_.emit(event, consumed_);
    for (const StreamId stream : waited_for) {
      log_.emit_done(
          stream);  // no change here, but under other settings there may have been no wait
    }
    pending_ = {};
  }

  /// An oom entry has no address that would reveal its pool. Before its release named it (2.12),
  /// nothing was released before a failure while a session was open; so where something was, none
  /// was.
  [[nodiscard]] PoolId pool_of_failure(const RecordedEntry& entry) const {
    if (log_.has_pool_names()) {
      return log_.pool_at(entry);
    }
    return pending_.releases ? PoolId{} : log_.session();
  }

  /// Whether the last event is a free of which the entries do not tell that it waited until now.
  [[nodiscard]] bool is_last_free_open(const RecordedEntry& allocation) const {
    const ChunkedVector<Event>& events = log_.trace.requests.events;
    if (!last_free_ || events.empty() || log_.emitted() != *last_free_ + 2) {
      return false;
    }
    const bool is_last = events[events.size() - 1].kind == EventKind::free;
    return is_last &&
           was_waited_for(unexplained(), device_->entries[*last_free_], allocation, *settings_);
  }

  void open_last_free() {
    const Event freed = log_.trace.requests.events[log_.trace.requests.events.size() - 1];
    const StreamId stream = synthetic_.take();
    ++log_.trace.report.deferred_frees;
    log_.replace_last(
        {.allocation = freed.allocation, .stream = stream, .kind = EventKind::record_stream},
        *last_free_);
    log_.emit(freed, *last_free_ + 1);
    pending_.first.push_back(stream);
    synthetic_.give_back(stream);
  }

  /// A pool that serves has its users: oversize blocks of it made room for the request.
  void leave_out(PoolId serving) {
    std::erase_if(pending_.pools, [&](const ReleasedPool& each) { return each.pool == serving; });
  }

  /// Decides whether what was released and completed before an allocation was released by it, or by
  /// an empty_cache before it. Returns the streams that the allocation waited for; the others were
  /// done before it.
  std::vector<StreamId> settle_before_allocation(const RecordedEntry& entry) {
    const bool was_short = pending_.releases || entry.action == RecordedAction::oom;
    if (calls_.are_exact() && was_short && is_last_free_open(entry)) {
      open_last_free();
    }
    if (calls_.are_exact() || !released_only_by_waiting(unexplained(), entry, *settings_)) {
      leave_out(log_.pool_at(entry));
    }
    const bool is_none_of_it =
        pending_.releases_others && is_held_back(entry) && !may_be_garbage(entry);
    if (gives_up_pools() || is_none_of_it) {
      settle_releases();
      return {};
    }
    const ReleaseCause cause = cause_of_release(entry);
    if (cause == ReleaseCause::empty_cache) {
      settle_releases();
      return {};
    }
    if (pending_.releases) {
      release_pools(PoolMemory::goes_later);
      if (cause == ReleaseCause::unknown) {
        log_.trace.possible_empty_caches.push_back(log_.trace.requests.events.size());
      }
    }
    std::vector<StreamId> waited_for;
    std::vector<StreamId> done_before = std::exchange(pending_.first, {});
    std::vector<StreamId>& later = pending_.between.empty() ? done_before : pending_.between;
    if (waiting_ == 0 && waited_for_all(entry)) {
      waited_for.swap(later);
    }
    for (const auto& streams : {done_before, pending_.between}) {
      for (const StreamId stream : streams) {
        log_.emit_done(stream);
      }
    }
    return waited_for;
  }

  /// An allocation that releases nothing of the default pool: one of a capture, until 2.12 that of
  /// any session (CachingAllocator::is_held_back).
  [[nodiscard]] bool is_held_back(const RecordedEntry& entry) const {
    if (entry.action == RecordedAction::oom) {
      return false;
    }
    const PoolId pool = log_.pool_at(entry);
    return open_pool_ == OpenPool::holds_back
               ? !pool.is_default()
               : captures_.kind_of(pool, consumed_ - 1) == SessionKind::capture;
  }

  /// Collecting garbage is all that an allocation does to the default pool when it is held back.
  [[nodiscard]] bool may_be_garbage(const RecordedEntry& allocation) const {
    const bool is_noted =
        calls_.cause_of_release({log_.emitted(), consumed_}) == ReleaseCause::allocation;
    return (settings_->garbage_collection_threshold > 0 || calls_.set_a_threshold()) &&
           (is_noted ||
            (!pending_.unmaps && !released_only_by_waiting(unexplained(), allocation, *settings_)));
  }

  /// As the recording notes, or by what an allocation releases memory for: to get some of it back.
  [[nodiscard]] ReleaseCause cause_of_release(const RecordedEntry& allocation) const {
    if (!pending_.releases) {
      return ReleaseCause::unknown;
    }
    const ReleaseCause noted = calls_.cause_of_release({log_.emitted(), consumed_});
    const bool is_for_nothing = !pending_.gains && allocation.action != RecordedAction::oom &&
                                !leaves_rim(unexplained(), allocation, *settings_);
    return noted == ReleaseCause::unknown && is_for_nothing ? ReleaseCause::empty_cache : noted;
  }

  /// Whether the streams were waited for after the search in the cache had failed, when all cached
  /// memory is released. Otherwise their events were found complete before that search.
  [[nodiscard]] bool waited_for_all(const RecordedEntry& entry) const {
    if (!pending_.between.empty() || pending_.unmaps || entry.action == RecordedAction::oom) {
      return true;  // after memory was taken or released; or the last resort
    }
    return pending_.releases && released_only_by_waiting(unexplained(), entry, *settings_);
  }

  /// The entries since the last request, up to the one that is looked at.
  [[nodiscard]] EntriesBefore unexplained() const { return {*device_, log_.emitted(), consumed_}; }

  /// An empty_cache if memory was released, or completions were seen, without an allocation.
  void settle_releases() {
    if (pending_.releases || pending_.completes()) {
      log_.close_session();
      if (gives_up_pools()) {
        give_up_pools();
      } else {
        release_pools(PoolMemory::goes_later);
        log_.emit({.kind = EventKind::empty_cache}, last_memory_entry_end());
      }
    }
    pending_ = {};
  }

  /// The recording names the call, so that it is known even where it found nothing to release.
  void settle_call() {
    const Marker call = log_.call().value();
    if (call.event.kind == EventKind::pool_release) {
      settle_pool_release(call.pool);
    } else {
      settle_empty_cache(call.entry);
    }
    log_.call_is_done();
  }

  /// What other pools' frees waited for is found done even if the pool was never used.
  void settle_pool_release(PoolId pool) {
    if (pending_.completes() && !log_.has_users(pool)) {
      log_.switch_session(pool, SessionKind::routed);
    }
    emit_all_done();
    log_.release(pool, PoolMemory::goes_now, last_memory_entry_end());
    pending_ = {};
  }

  /// In a capture it releases pools that were given up, and nothing else.
  void settle_empty_cache(std::size_t entry) {
    if (captures_.is_marked_around(entry)) {
      give_up_pools();
      pending_ = {};
      return;
    }
    if (!pending_.releases && !pending_.completes()) {
      log_.close_session();
      log_.emit({.kind = EventKind::empty_cache}, log_.emitted());
    }
    settle_releases();
  }

  /// What waited for other streams is free.
  void emit_all_done() {
    for (const auto& streams : {pending_.first, pending_.between}) {
      for (const StreamId stream : streams) {
        log_.emit_done(stream);
      }
    }
  }

  /// Their blocks that waited for other streams are free first.
  void give_up_pools() {
    emit_all_done();
    release_pools(PoolMemory::goes_now);
  }

  /// A private pool's memory goes back to the device only when the pool has no users any more.
  void release_pools(PoolMemory goes) {
    for (const ReleasedPool& each : std::exchange(pending_.pools, {})) {
      const bool is_now = goes == PoolMemory::goes_now;
      log_.release(each.pool, goes, is_now ? each.end : log_.emitted());
    }
  }

  [[nodiscard]] std::size_t last_memory_entry_end() const {
    std::size_t end = consumed_;
    while (end > log_.emitted() && !releases_memory(device_->entries[end - 1].action)) {
      --end;
    }
    return std::max(end, log_.emitted());
  }

  std::size_t requested_free(std::size_t i) {
    settle_releases();
    const RecordedEntry& entry = device_->entries[i];
    const AllocationId id = live_or_older(entry);
    const bool completes = i + 1 < device_->entries.size() &&
                           device_->entries[i + 1].action == RecordedAction::free_completed &&
                           device_->entries[i + 1].address == entry.address;
    if (completes) {
      live_.erase(entry.address.value());
      last_free_ = i;
      consumed_ = i + 2;
      log_.emit({.allocation = id, .stack = entry.stack, .kind = EventKind::free}, consumed_);
      return i + 1;
    }
    defer_free(id, entry);
    return i;
  }

  void defer_free(AllocationId id, const RecordedEntry& entry) {
    if (open_pool_ == OpenPool::changes_nothing && log_.session_kind() == SessionKind::capture) {
      log_.close_session();  // else the wait would be a use in the capture, which ends with it
    }
    const StreamId stream = synthetic_.take();
    ++log_.trace.report.deferred_frees;
    ++waiting_;
    live_[entry.address.value()].waiting_on = stream;
    log_.emit({.allocation = id, .stream = stream, .kind = EventKind::record_stream},
              log_.emitted());
    log_.emit({.allocation = id, .stack = entry.stack, .kind = EventKind::free}, consumed_);
  }

  void completed_free(const RecordedEntry& entry) {
    const auto found = live_.find(entry.address.value());
    if (found != live_.end() && found->second.waiting_on.has_value()) {
      const bool before_any = !pending_.releases && !pending_.gains;
      (before_any ? pending_.first : pending_.between).push_back(found->second.waiting_on);
      synthetic_.give_back(found->second.waiting_on);
      --waiting_;
      live_.erase(found);
      return;
    }
    // Its free_requested was overwritten in the ring buffer, or such entries were not recorded.
    log_.trace.report.truncated |= log_.emitted() == 0 || found == live_.end();
    settle_releases();
    const AllocationId id = live_or_older(entry);
    live_.erase(entry.address.value());
    log_.emit({.allocation = id, .stack = entry.stack, .kind = EventKind::free}, consumed_);
  }

  /// The allocation at the entry's address; one that is older than the recording if none is known.
  AllocationId live_or_older(const RecordedEntry& entry) {
    const auto found = live_.find(entry.address.value());
    if (found != live_.end()) {
      return found->second.id;
    }
    const AllocationId id = log_.new_allocation(entry.address);
    older_.push_back({entry.address, entry.size, std::nullopt, id, StackId::none()});
    live_[entry.address.value()] = {id, StreamId::none()};
    return id;
  }

  /// An allocation at an address that is still live: its free was not recorded.
  void release_live(Address address) {
    const auto found = live_.find(address.value());
    if (found == live_.end()) {
      return;
    }
    ++log_.trace.report.implicit_frees;
    if (found->second.waiting_on.has_value()) {
      log_.emit_done(found->second.waiting_on);
      synthetic_.give_back(found->second.waiting_on);
      --waiting_;
    } else {
      log_.emit({.allocation = found->second.id, .kind = EventKind::free}, log_.emitted());
    }
    live_.erase(found);
  }

  void defer_older(OlderBlock block) {
    block.id = log_.new_allocation(block.address);
    older_.push_back(block);
    live_[block.address.value()] = {block.id, StreamId::none()};
    defer_free(block.id, {.address = block.address, .size = block.requested});
  }

  const RecordedDevice* device_;
  const Settings* settings_;
  OpenPool open_pool_;
  AllocatorCalls calls_;
  CaptureSessions captures_;
  RequestLog log_;
  SyntheticStreams synthetic_;
  LiveBlocks live_;
  std::vector<OlderBlock> older_;
  Pending pending_;
  std::optional<std::size_t> last_free_;  ///< entry of the last free that completed at once
  std::size_t waiting_ = 0;               ///< deferred frees that have not completed
  std::size_t consumed_ = 0;              ///< entries looked at
};

}  // namespace

DerivedTrace derive_requests(const Recording& recording, const RecordedDevice& device,
                             const Settings& settings) {
  if (device.entries.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw InputError("", fmt::format("device_traces[{}]", device.index),
                     "more than 4294967294 entries", "split the recording");
  }
  SideTables tables = recording.tables;
  DerivedTrace trace = Derivation(recording, device, settings,
                                  recorded_markers(recording, device.index, tables.strings))
                           .run();
  trace.requests.tables = std::move(tables);
  trace.requests.header.torch = release_of(preset_of(recording).name);
  return trace;
}

}  // namespace highwater
