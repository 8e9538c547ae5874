#include "sim/recordings/request_log.hpp"

#include <utility>

namespace highwater {

RequestLog::RequestLog(const RecordedDevice& device, std::vector<Marker> markers)
    : device_(&device), markers_(std::move(markers)) {
  for (const RecordedSegment& segment : device.segments) {
    if (!segment.pool.is_default()) {
      private_ranges_.push_back({segment.range(), segment.pool});
    }
  }
}

void RequestLog::emit(const Event& event, std::size_t entries_until) {
  emitted_ = entries_until;
  trace.requests.events.push_back(event);
  trace.entry_ends.push_back(static_cast<std::uint32_t>(entries_until));
}

void RequestLog::replace_last(const Event& event, std::size_t entries_until) {
  trace.requests.events[trace.requests.events.size() - 1] = event;
  trace.entry_ends.back() = static_cast<std::uint32_t>(entries_until);
  emitted_ = entries_until;
}

void RequestLog::emit_done(StreamId stream) {
  emit({.stream = stream, .kind = EventKind::stream_done}, emitted_);
}

void RequestLog::emit_markers_until(std::size_t entry) {
  for (; has_markers_until(entry); ++next_marker_) {
    const Marker& marker = markers_[next_marker_];
    if (call_ && (call_->entry < marker.entry || marker.kind != Marker::Kind::event)) {
      return;
    }
    if (marker.kind == Marker::Kind::call) {
      call_ = marker;
    } else if (marker.event.kind == EventKind::pool_release) {
      release(marker.pool, PoolMemory::goes_later, emitted_);
    } else if (marker.event.kind == EventKind::pool_retire) {
      retire(marker.pool);
    } else if (marker.kind == Marker::Kind::event) {
      emit(marker.event, emitted_);
    }
  }
}

AllocationId RequestLog::new_allocation(Address address) {
  trace.addresses.push_back(address);
  return AllocationId{trace.addresses.size() - 1};
}

void RequestLog::switch_session(PoolId pool, SessionKind kind) {
  if (pool == session_ && kind == kind_) {
    return;
  }
  close_session();
  if (!pool.is_default()) {
    session_ = pool;
    kind_ = kind;
    ++users_[pool];
    emit({.value = trace.options_of(pool, kind),
          .kind = EventKind::pool_begin,
          .pool = trace.requests.index_of(pool)},
         emitted_);
  }
}

void RequestLog::close_session() {
  if (!session_.is_default()) {
    emit({.kind = EventKind::pool_end, .pool = trace.requests.index_of(session_)}, emitted_);
    session_ = PoolId{};
    kind_ = SessionKind::routed;
  }
}

void RequestLog::retire(PoolId pool) {
  if (users_.contains(pool)) {
    emit({.kind = EventKind::pool_retire, .pool = trace.requests.index_of(pool)}, emitted_);
  }
}

void RequestLog::release(PoolId pool, PoolMemory goes, std::size_t entries_until) {
  const auto users = users_.find(pool);
  if (users == users_.end()) {
    return;  // no allocation of it is in the recording
  }
  if (session_ == pool) {
    close_session();
  }
  for (std::size_t left = users->second; left > 0; --left) {
    const bool is_last = left == 1;
    emit({.value = is_last && goes == PoolMemory::goes_now ? 1U : 0U,
          .kind = EventKind::pool_release,
          .pool = trace.requests.index_of(pool)},
         is_last ? entries_until : emitted_);
  }
  users_.erase(users);
}

PoolId RequestLog::pool_at(const RecordedEntry& entry) const {
  if (has_pool_names()) {
    return device_->pools[entry.pool];
  }
  for (const PrivateRange& candidate : private_ranges_) {
    if (candidate.range.contains(entry.address)) {
      return candidate.owner;
    }
  }
  return PoolId{};
}

}  // namespace highwater
