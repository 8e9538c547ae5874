// A second, deliberately plain implementation of the caching allocator, as an oracle for tests and
// as the baseline of the benchmark.
//
// Written from the description of the rules alone, with the obvious means: blocks on the heap, free
// blocks in a std::set ordered by (stream, size, address), neighbours by pointer. It shares with
// the model only settings, units, the device interface and the types of results, so that agreement
// of the two means something. Nothing is validated per operation and nothing is slower than it
// would be in a straightforward implementation.
//
// Same public interface as CachingAllocator, except that the handle is a pointer to the block.
// Event queues are visited in stream order, freeable pools in the order of their release.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "allocator/caching_allocator.hpp"
#include "allocator/decision.hpp"
#include "allocator/device.hpp"
#include "allocator/memory_map.hpp"
#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"
#include "tests/support/oracle/naive_block.hpp"
#include "tests/support/oracle/naive_statistics.hpp"

namespace highwater::oracle {

struct NaiveResult {
  AllocationStatus status = AllocationStatus::no_block;
  NaiveBlock* block = nullptr;
};

class NaiveAllocator {
 public:
  NaiveAllocator(Device& device, const Settings& settings, const VersionPreset& version);
  ~NaiveAllocator();
  NaiveAllocator(const NaiveAllocator&) = delete;
  NaiveAllocator& operator=(const NaiveAllocator&) = delete;

  void set_memory_fraction(double fraction);

  void change_settings(const Settings& settings) { settings_ = settings; }

  NaiveResult allocate(Bytes size, StreamId stream);
  void free(NaiveBlock* block);
  void record_stream(NaiveBlock* block, StreamId stream);
  void complete_events(StreamId stream);
  void complete_all_events();
  bool empty_cache();

  void reset_peaks() { stats_.reset_peaks(); }

  PoolCall begin_pool(PoolId id);
  PoolCall end_pool(PoolId id);
  PoolCall release_pool(PoolId id);

  void set_listener(DecisionListener* listener) { listener_ = listener; }

  [[nodiscard]] const NaiveBlock& block(const NaiveBlock* handle) const { return *handle; }

  [[nodiscard]] Address segment_start(const NaiveBlock* block) const;

  [[nodiscard]] const NaiveStatistics& statistics() const { return stats_; }

  [[nodiscard]] const Settings& settings() const { return settings_; }

  [[nodiscard]] MemoryMap memory_map() const;

 private:
  struct Request {
    Bytes asked;
    Bytes size;     ///< rounded
    Bytes segment;  ///< size of a new segment
    StreamId stream;
    NaivePool* pool = nullptr;
  };

  struct Event {
    std::uint64_t number = 0;
    NaiveBlock* block = nullptr;
  };

  /// The events of one stream, oldest first.
  struct EventQueue {
    std::deque<Event> events;
    std::uint64_t recorded = 0;
    std::uint64_t completed = 0;
  };

  // naive_allocate.cpp
  NaiveBlock* find_free(const Request& request);
  NaiveBlock* find_new(const Request& request);
  NaiveBlock* new_segment(const Request& request);
  NaiveBlock* new_fixed_segment(const Request& request);
  NaiveBlock* hand_out(const Request& request, NaiveBlock* block);
  NaiveBlock* split(NaiveBlock* block, Bytes size);
  NaiveResult out_of_memory(const Request& request);

  // naive_free.cpp
  void free_block(NaiveBlock* block);
  NaiveBlock* merge_with_neighbours(NaiveBlock* block);
  void insert_free(NaiveBlock* block);
  void record_events(NaiveBlock* block);
  void record_deferred_events();
  void process_events();
  void wait_for_events();
  void take_completed(EventQueue& queue);

  // naive_release.cpp
  void release_cached();
  void release_pool_blocks(NaivePool& pool);
  void release_freeable_pools();
  bool release_oversize(const Request& request);
  void release_segment(NaiveBlock* block);
  void collect_garbage();
  [[nodiscard]] bool gc_is_active() const;

  // naive_expandable.cpp
  NaiveBlock* grow(const Request& request);
  NaiveBlock* find_address_space(const Request& request);
  NaiveBlock* reserve(const Request& request);
  NaiveBlock* map_block(NaiveBlock* block, Bytes size);
  NaiveBlock* unmap_block(NaiveBlock* block);
  void release_reservation(NaiveBlock* block);

  // naive_pools.cpp
  NaivePool* pool_for(Bytes rounded);

  std::uint64_t next_segment_age() {
    return version_->ties == TieOrder::by_segment_age ? ++segments_made_ : 0;
  }

  void decide(RecordedAction action, Address address, Bytes size, StreamId stream) {
    if (listener_ != nullptr) {
      listener_->on_decision({action, address, size, stream});
    }
  }

  Device* device_;
  Settings settings_;
  const VersionPreset* version_;
  DecisionListener* listener_ = nullptr;
  NaiveStatistics stats_;
  NaivePool small_{.kind = PoolKind::small};
  NaivePool large_{.kind = PoolKind::large};
  std::map<PoolId, std::unique_ptr<NaivePrivatePool>> private_pools_;
  std::vector<NaivePrivatePool*> freeable_;
  std::vector<NaivePrivatePool*> sessions_;
  std::map<Address, NaiveBlock*> segments_;  ///< first block of every segment and reservation
  std::map<StreamId, EventQueue> events_;
  std::vector<NaiveBlock*> deferred_;
  std::optional<Bytes> allowed_;
  Bytes held_;
  std::uint64_t segments_made_ = 0;
};

}  // namespace highwater::oracle
