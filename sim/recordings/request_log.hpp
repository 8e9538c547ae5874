// The requests that a derivation has found so far: each with the entries it accounts for, between
// the markers of the recording, and in a session of the private pool that its memory came from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/recordings/derivation.hpp"
#include "sim/recordings/recorded_markers.hpp"

namespace highwater {

/// When a pool without users returns its memory: a torch.cuda.MemPool when it is deleted, that of
/// CUDA graphs with the next release of cached memory.
enum class PoolMemory : std::uint8_t { goes_now, goes_later };

class RequestLog {
 public:
  /// `device` must outlive the log.
  RequestLog(const RecordedDevice& device, std::vector<Marker> markers);

  /// The next event; with those before it, it accounts for the first `entries_until` entries.
  void emit(const Event& event, std::size_t entries_until);

  /// `event` takes the place of the last one; with those before it, it accounts for the first
  /// `entries_until` entries.
  void replace_last(const Event& event, std::size_t entries_until);

  /// A stream is found done; no entry says so.
  void emit_done(StreamId stream);

  /// The markers that lie before entry `entry`. A call is kept instead, since what it released is
  /// in the entries that follow; the markers behind these are left for later.
  void emit_markers_until(std::size_t entry);

  /// The call that is under way; absent once it is done.
  [[nodiscard]] const std::optional<Marker>& call() const { return call_; }

  void call_is_done() { call_.reset(); }

  /// Whether a marker is left that lies before entry `entry`.
  [[nodiscard]] bool has_markers_until(std::size_t entry) const {
    return next_marker_ < markers_.size() && markers_[next_marker_].entry <= entry;
  }

  AllocationId new_allocation(Address address);

  /// Opens a session of `pool`, or closes the open one for the default pool.
  void switch_session(PoolId pool, SessionKind kind);
  void close_session();

  [[nodiscard]] bool has_users(PoolId pool) const { return users_.contains(pool); }

  /// Every user of `pool` has gone; with those before it, this accounts for the first
  /// `entries_until` entries.
  void release(PoolId pool, PoolMemory goes, std::size_t entries_until);

  /// The MemPool of a pool that graphs still use is deleted.
  void retire(PoolId pool);

  /// The pool of the open session, the default pool while none is.
  [[nodiscard]] PoolId session() const { return session_; }

  [[nodiscard]] SessionKind session_kind() const { return kind_; }

  /// Whether entries name their pools: those that name none are of the default pool's memory then.
  [[nodiscard]] bool has_pool_names() const { return device_->pools.size() > 1; }

  /// The pool that an allocation's memory belongs to: as its entry says, else by its address.
  [[nodiscard]] PoolId pool_at(const RecordedEntry& entry) const;

  /// How many entries the events account for.
  [[nodiscard]] std::size_t emitted() const { return emitted_; }

  DerivedTrace trace;

 private:
  struct PrivateRange {
    AddressRange range;
    PoolId owner;
  };

  const RecordedDevice* device_;
  std::vector<Marker> markers_;
  std::size_t next_marker_ = 0;
  std::optional<Marker> call_;
  std::vector<PrivateRange> private_ranges_;
  PoolId session_;
  SessionKind kind_ = SessionKind::routed;  ///< of the open session
  std::map<PoolId, std::size_t> users_;     ///< of private pools, as the allocator counts them
  std::size_t emitted_ = 0;
};

}  // namespace highwater
