// Recordings written by hand, for tests of what is derived from them.
//
//   const Recording recording = a_recording()
//       .segment_alloc(0x1000'0000, 20_MiB).alloc(0x1000'0000, 3_MiB)
//       .final_segment(0x1000'0000, {{3_MiB, "active_allocated"}, {17_MiB, "inactive"}});
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "traces/recording.hpp"

namespace highwater {

class RecordingBuilder {
 public:
  using Blocks = std::vector<std::pair<Bytes, BlockState>>;

  RecordingBuilder() {
    recording_.devices.emplace_back();
    device().stream_handles = {0, 7};
  }

  RecordingBuilder& entry(RecordedAction action, std::uint64_t address, Bytes size,
                          std::uint16_t stream = 0) {
    device().entries.push_back(
        {.address = Address{address}, .size = size, .stream = stream, .action = action});
    return *this;
  }

  /// The last entry names its pool, as those of 2.12 and later do.
  RecordingBuilder& in_pool(PoolId pool) {
    std::vector<PoolId>& pools = device().pools;
    auto known = std::ranges::find(pools, pool);
    if (known == pools.end()) {
      known = pools.insert(pools.end(), pool);
    }
    device().entries[device().entries.size() - 1].pool =
        static_cast<std::uint8_t>(known - pools.begin());
    return *this;
  }

  RecordingBuilder& segment_alloc(std::uint64_t address, Bytes size) {
    return entry(RecordedAction::segment_alloc, address, size);
  }

  RecordingBuilder& segment_free(std::uint64_t address, Bytes size) {
    return entry(RecordedAction::segment_free, address, size);
  }

  RecordingBuilder& alloc(std::uint64_t address, Bytes size) {
    return entry(RecordedAction::alloc, address, size);
  }

  /// free_requested directly followed by free_completed.
  RecordingBuilder& free(std::uint64_t address, Bytes size) {
    return free_requested(address, size).free_completed(address, size);
  }

  RecordingBuilder& free_requested(std::uint64_t address, Bytes size) {
    return entry(RecordedAction::free_requested, address, size);
  }

  RecordingBuilder& free_completed(std::uint64_t address, Bytes size) {
    return entry(RecordedAction::free_completed, address, size);
  }

  /// A segment of the final state, fixed and large; active blocks asked for their whole size.
  RecordingBuilder& final_segment(std::uint64_t address, const Blocks& blocks, PoolId pool = {}) {
    RecordedSegment segment;
    segment.address = Address{address};
    segment.is_large = true;
    segment.pool = pool;
    for (const auto& [size, state] : blocks) {
      segment.blocks.push_back({.address = segment.address + segment.size,
                                .size = size,
                                .requested = state == BlockState::inactive ? Bytes{} : size,
                                .state = state});
      segment.size += size;
    }
    device().segments.push_back(std::move(segment));
    return *this;
  }

  operator const Recording&() const { return recording_; }  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Recording& get() const { return recording_; }

  /// The recording itself, to be changed further. To be called once.
  [[nodiscard]] Recording take() { return std::move(recording_); }

 private:
  RecordedDevice& device() { return recording_.devices.front(); }

  Recording recording_;
};

}  // namespace highwater
