// The model of PyTorch's CUDA caching allocator for one device: requests in, decisions out.
//
// Criterion: the same decisions as the real allocator, address for address, given the same requests
// and the same answers from the device. Each mechanism has its own source file:
//   allocate.cpp   search, split, the ladder of attempts, out of memory
//   free.cpp       free, merge, record_stream, completed events
//   release.cpp    cached memory back to the device: empty_cache, oversize, garbage collection
//   expandable.cpp expandable segments: reserve, map, unmap
//   pools.cpp      private pools and their sessions
//   memory_map.cpp picture of the state, and start from such a picture
//   state_image.cpp whether a state has come back
//   resync.cpp     overrides decisions that differ from a recording
// Source: class DeviceCachingAllocator of c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0.
//
// Differs from the original only where the original has defects that depend on freed memory: a
// stream use noted during a pool session never outlives its allocation; a block that is part of a
// segment is never given to cudaFree (2.6 does so after max_split_size was lowered at run time); a
// private pool is never dropped while it is open or blocks of it (in expandable segments) are used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "allocator/block.hpp"
#include "allocator/block_ranks.hpp"
#include "allocator/decision.hpp"
#include "allocator/device.hpp"
#include "allocator/memory_map.hpp"
#include "allocator/out_of_memory.hpp"
#include "allocator/pool.hpp"
#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"
#include "allocator/state_image.hpp"
#include "allocator/statistics.hpp"
#include "allocator/stream_events.hpp"
#include "traces/pool_options.hpp"

namespace highwater {

enum class AllocationStatus : std::uint8_t { ok, no_block, out_of_memory };

/// The result of one request. `no_block`: a request of 0 bytes, which gets a null pointer.
struct AllocationResult {
  AllocationStatus status = AllocationStatus::no_block;
  BlockId block;  ///< the handle for free and record_stream when ok
};

enum class PoolCall : std::uint8_t {
  ok,
  unknown_pool,   ///< end or release of a pool that does not exist
  pool_released,  ///< begin or release of a pool whose last use was released
  already_open,   ///< begin of a pool that already has a session
  not_open,       ///< end of a pool that has no session
};

/// So many allocations that are rounded to the same size, and freed together before anything else
/// is allocated.
struct EqualBlocks {
  std::uint32_t count = 0;
  Bytes asked;  ///< by all of them
  StreamId stream;
};

class CachingAllocator {
 public:
  /// `device` must outlive the allocator. Streams are dense ids in the order of their raw handles.
  CachingAllocator(Device& device, const Settings& settings, const VersionPreset& version);
  CachingAllocator(const CachingAllocator&) = delete;  // blocks point into it
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// torch.cuda.set_per_process_memory_fraction; 0 <= fraction <= 1.
  void set_memory_fraction(double fraction);

  /// The same limit in bytes: what the process may take from the device. Absent: none.
  void set_memory_limit(std::optional<Bytes> limit) { allowed_ = limit; }

  /// Applies settings changed at run time (setAllocatorSettings), already parsed.
  void change_settings(const Settings& settings) { settings_ = settings; }

  AllocationResult allocate(Bytes size, StreamId stream);
  /// The allocations one after the other, at a cost that grows with the number of segments only:
  /// those that one free block of the small pool serves are one handle of `blocks`. Statistics of
  /// bytes are those of single allocations, as is the state once all are freed; counts of blocks
  /// are of handles. What was served before memory ran out is in `blocks`.
  /// @returns what they asked for that were served
  Bytes allocate_equal(EqualBlocks wanted, std::vector<BlockId>& blocks);

  /// `id` must be a handle from allocate() that was not freed.
  void free(BlockId id);
  void record_stream(BlockId id, StreamId stream);

  /// Every event recorded so far on `stream` (or on all streams) is complete; noticed at the next
  /// request.
  void complete_events(StreamId stream) { events_.complete(stream); }

  void complete_all_events() { events_.complete_all(); }

  /// False if the release refuses: 2.6 asserts that no pool session is open.
  bool empty_cache();

  void reset_peaks() { stats_.reset_peaks(); }

  /// A pool keeps the options that it was first begun with.
  PoolCall begin_pool(PoolId id, PoolOptions options = {}, SessionKind kind = SessionKind::routed);
  PoolCall end_pool(PoolId id);
  PoolCall release_pool(PoolId id);

  /// The torch.cuda.MemPool of a pool is deleted: it serves requests of its own alone from here on,
  /// whatever use_on_oom said. Seen in PyTorch 2.15.
  void retire_pool(PoolId id);

  /// The common pools first, then the private ones by their ids.
  [[nodiscard]] std::vector<PoolHolding> holdings() const;

  /// Makes the holdings of now those of marked_holdings(). Takes no time, however many pools there
  /// are: each keeps what it held when it changes next.
  void mark_holdings() {
    ++mark_;
    held_at_mark_ = held_;
  }

  /// As holdings(), at the last mark. Pools that held nothing may be missing.
  [[nodiscard]] std::vector<PoolHolding> marked_holdings() const;

  /// Returns the cached memory of a pool that has no users any more, and of no other.
  void empty_pool(PoolId id);

  void set_listener(DecisionListener* listener) { listener_ = listener; }

  [[nodiscard]] const Block& block(BlockId id) const { return blocks_[id]; }

  /// First address of the segment (of the contiguous mapped range) that holds `id`.
  [[nodiscard]] Address segment_start(BlockId id) const;

  /// The page around `address`, which lies in the expandable segment of `id`; a page is mapped and
  /// unmapped as a whole.
  [[nodiscard]] AddressRange expandable_page_at(BlockId id, Address address) const;

  [[nodiscard]] const Statistics& statistics() const { return stats_; }

  [[nodiscard]] const Settings& settings() const { return settings_; }

  [[nodiscard]] const VersionPreset& version() const { return *version_; }

  /// The report of the most recent failed request.
  [[nodiscard]] const OutOfMemory& last_out_of_memory() const { return last_oom_; }

  /// Whether a request would be served from the cache right now; changes nothing.
  [[nodiscard]] bool would_hit_cache(Bytes size, StreamId stream);

  /// What allocate() and an immediate free() would do where a cached block serves: the block is as
  /// it was, and the peaks of what is allocated count it; those of split blocks do not. False where
  /// that is not known to be so: then nothing was done.
  bool touch(Bytes size, StreamId stream);

  [[nodiscard]] MemoryMap memory_map() const;

  /// What decisions depend on; nothing in a state that cannot come back.
  [[nodiscard]] std::optional<StateImage> image() const;

  /// Adds, `times` times over, what the statistics gained since `before`; the state must be the one
  /// of then.
  void repeat(const Statistics& before, std::uint64_t times) { stats_.repeat(before, times); }

  /// Starts from the state `map` (only on a fresh allocator). Every active block counts as
  /// allocated, whatever its state. Returns the handles segment by segment and block by block, none
  /// for inactive blocks. The device is not called: it must already know the segments.
  std::vector<BlockId> restore(const MemoryMap& map);

  // Corrections, for following a recording after a wrong decision. They do not keep the
  // inactive_split statistics exact.

  /// Moves the live block `id` to `address`, where the model must have enough free memory of the
  /// same pool and stream. Returns its new handle, or none (and changes nothing) if that is
  /// impossible.
  BlockId move_block(BlockId id, Address address);
  /// Adds a cached segment that the model did not request.
  void add_segment(AddressRange segment, StreamId stream, PoolKind kind);
  /// Drops the cached segment at `address` that the model kept; false if it is in use or absent.
  bool drop_segment(Address address);

 private:
  /// One allocation on its way down the ladder of attempts.
  struct Request {
    Bytes asked;
    Bytes size;  ///< rounded
    StreamId stream;
    StreamCache* cache = nullptr;
    bool is_expandable = false;  ///< blocks of expandable segments serve it
  };

  enum class Attempt { first, retry };

  // allocate.cpp
  [[nodiscard]] Request make_request(Bytes size, StreamId stream);
  [[nodiscard]] const FreeEntry* find_cached(const Request& request) const;
  [[nodiscard]] bool refused_as_oversize(Bytes size, Bytes candidate) const;
  BlockId take_cached(const Request& request);
  [[gnu::noinline]] BlockId climb_ladder(Request& request);
  BlockId take_from_oom_pools(Request& request);
  BlockId new_segment(const Request& request, Attempt attempt);
  BlockId new_fixed_segment(const Request& request);
  BlockId hand_out(const Request& request, BlockId id);
  BlockId split(BlockId id, Bytes size);
  [[nodiscard]] bool splits(const Request& request, Bytes remaining) const;
  [[nodiscard]] std::uint64_t equal_blocks_in(const Request& request, BlockId id) const;
  void account_handed_out(const Block& block);
  [[gnu::noinline]] AllocationResult fail(const Request& request);
  [[nodiscard]] OutOfMemory account_of_failure(const Request& request) const;

  // free.cpp
  void complete_free(BlockId id);
  void return_to_cache(BlockId id);
  std::int64_t join_neighbours(BlockId id);
  void join(BlockId into, BlockId neighbour);

  /// Into and out of the free list; inline because every operation does each about once.
  void cache(BlockId id) {
    Block& block = blocks_[id];
    block.gc_base = block.home->pool->search_count;
    block.requested = Bytes{0};
    block.home->free.insert({block.size.count(), block.rank, id});
  }

  void uncache(BlockId id) {
    const Block& block = blocks_[id];
    block.home->free.erase({block.size.count(), block.rank, id});
  }

  [[gnu::noinline]] void record_events(BlockId id);

  void process_events() {
    if (!deferred_.empty() || events_.has_completed()) {
      process_pending();
    }
  }

  [[gnu::noinline]] void process_pending();
  void insert_deferred_events();
  void finish_event(BlockId id);

  // release.cpp
  void release_all_cached();
  void release_default_pools();
  void release_freeable_pools();
  void release_blocks_of(PoolId id);
  void drop_empty_pools();
  void synchronize_and_free_events();
  void release_pool_blocks(Pool& pool);
  void release_fixed(BlockId id);
  bool release_oversize(const Request& request);
  void collect_garbage();
  [[nodiscard]] bool garbage_collection_active() const;
  [[nodiscard]] Bytes reclaim_target() const;
  void account_new_memory(const Block& block, Bytes size);
  void account_released_memory(const Block& block, Bytes size);

  // expandable.cpp
  BlockId grow_expandable(const Request& request);
  BlockId find_address_space(const Request& request);
  BlockId reserve_segment(const Request& request);
  BlockId add_unmapped(const Block& block);
  [[nodiscard]] bool has_address_space(BlockId from, Bytes size) const;
  bool map_block(BlockId id, Bytes size);
  void unmap_block(BlockId id);
  void add_rim(const Block& block, AddressRange range, BlockId prev, BlockId next);
  void release_reservation(BlockId id);

  // pools.cpp
  [[nodiscard]] Pool& pool_for(Bytes rounded);
  [[nodiscard]] bool is_no_split(const Pool& pool) const;
  [[nodiscard]] std::vector<PoolId> pools_for_oom() const;
  [[nodiscard]] bool is_open(PoolId id) const;

  /// A graph capture makes the allocator hold back: it neither waits for events nor releases cached
  /// memory. Until 2.12 any open pool counts as one.
  [[nodiscard]] bool is_held_back() const {
    return !sessions_.empty() && (version_->open_pool == OpenPool::holds_back ||
                                  std::ranges::any_of(sessions_, &Session::is_capture));
  }

  // state_image.cpp
  [[nodiscard]] bool can_come_back() const;

  // memory_map.cpp
  void append_ranges(BlockId first, MemoryMap& map) const;
  [[nodiscard]] MapSegment empty_range(const Block& first) const;
  [[nodiscard]] Pool& pool_of(PoolId owner, PoolKind kind);
  BlockId restore_range(const MapSegment& segment, const Block& prototype, BlockId previous,
                        std::vector<BlockId>& handles);
  void restore_reservation(std::span<const MapSegment> ranges, std::vector<BlockId>& handles);

  void decide(RecordedAction action, Address address, Bytes size, StreamId stream) {
    if (listener_ != nullptr) {
      listener_->on_decision({action, address, size, stream});
    }
  }

  /// A reservation of address space that grows page by page.
  struct ExpandableSegment {
    AddressRange reservation;
    Bytes page;
  };

  /// A small and a large pool with one owner.
  struct PoolPair {
    explicit PoolPair(PoolId owner) {
      large.kind = PoolKind::large;
      small.owner = large.owner = owner;
    }

    [[nodiscard]] Pool& of(PoolKind kind) { return kind == PoolKind::small ? small : large; }

    Pool small;
    Pool large;
  };

  /// A pool that is open.
  struct Session {
    PoolId pool;
    SessionKind kind = SessionKind::routed;

    [[nodiscard]] bool is_capture() const { return kind == SessionKind::capture; }
  };

  struct PrivatePool {
    std::unique_ptr<PoolPair> pools;
    PoolOptions options;
    std::int64_t use_count = 1;  ///< 0: released, its memory may go back to the device
    Bytes held;                  ///< bytes of segments and mapped ranges
    /// PyTorch's cudaMalloc_count: requests that took memory from the device, less segments and
    /// ranges given back. Ranges that grew by several requests, and requests that mapped twice,
    /// make it differ from what is held.
    std::int64_t device_uses = 0;
    bool is_forgotten = false;  ///< PyTorch has deleted it, though some of its memory is in use
    std::vector<std::unique_ptr<PoolPair>> forgotten;  ///< earlier ones of its name
  };

  /// What a pool held at a mark.
  struct KeptHolding {
    std::uint64_t mark = 0;  ///< since which the pool has changed
    Bytes held;              ///< before
  };

  void make_anew(PrivatePool& pool, PoolId id, PoolOptions options);
  void resize_private_pool(PoolId owner, Bytes held);

  Device* device_;
  Settings settings_;
  const VersionPreset* version_;
  DecisionListener* listener_ = nullptr;
  BlockStore blocks_;
  PoolPair default_pools_{PoolId{}};
  std::map<PoolId, PrivatePool> private_pools_;
  std::map<PoolId, KeptHolding> kept_holdings_;  ///< also of pools that are gone
  std::uint64_t mark_ = 1;
  Bytes held_at_mark_;
  std::vector<PoolId> freeable_;   ///< in the order of their release
  std::vector<PoolId> oom_pools_;  ///< with use_on_oom, in the order of their first session
  std::vector<Session> sessions_;  ///< oldest first
  std::vector<ExpandableSegment> expandable_;
  BlockRanks ranks_;
  StreamEvents events_;
  /// Other streams that use a block.
  boost::unordered_flat_map<BlockId, StreamUses, std::hash<BlockId>> uses_;
  std::vector<BlockId> deferred_;  ///< freed during a session, with uses
  Statistics stats_;
  std::optional<Bytes> allowed_;  ///< limit by fraction
  Bytes held_;                    ///< fixed segments plus mapped bytes
  OutOfMemory last_oom_;
};

}  // namespace highwater
