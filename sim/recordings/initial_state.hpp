// The state before the first entry of a recording, rebuilt from its final segments.
//
// Segments: the final ones with every recorded segment entry undone, newest first. Blocks: those
// that were freed without having been allocated in the recording, and those in the final state that
// the recording never touched. Everything between them is free.
// Source: SNAPSHOT_FORMAT sections 4 and 5 of the project's documentation.
#pragma once

#include <string>
#include <vector>

#include "allocator/memory_map.hpp"
#include "allocator/settings/settings.hpp"
#include "traces/ids.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// A block that is older than the recording.
struct OlderBlock {
  Address address;
  Bytes requested;
  std::optional<Bytes> size;  ///< known when the block is still in the final state
  AllocationId id;
  StackId stack;  ///< of the allocation, known when the block is still in the final state
  std::optional<Bytes> told_size = std::nullopt;  ///< as shown by an allocation right after it
};

struct InitialState {
  MemoryMap map;
  std::vector<AllocationId> ids;        ///< per block of `map` in order, none if inactive
  std::vector<StackId> stacks;          ///< per block of `map` in order
  std::uint64_t doubtful = 0;           ///< blocks whose real size had to be guessed
  std::vector<AllocationId> misplaced;  ///< blocks that fit no initial segment; left out
};

/// `blocks` in any order. Streams in the map are indices into `device.stream_handles`.
InitialState rebuild_initial_state(const RecordedDevice& device, std::vector<OlderBlock> blocks,
                                   const Settings& settings);

}  // namespace highwater
