// The state at which a replay first runs out of memory: the account, every block, its owner.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "allocator/memory_map.hpp"
#include "sim/replay/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// A block that the program holds at that moment.
struct HeldBlock {
  AllocationId allocation;
  StackId stack;
  Bytes size;               ///< of the block
  std::size_t segment = 0;  ///< index into OomState::map.segments
  std::size_t block = 0;    ///< index into its blocks
};

struct OomState {
  std::size_t event = 0;        ///< of the trace: the request that failed
  std::uint64_t operation = 0;  ///< the same counted in operations
  StackId stack;                ///< who asked
  std::optional<std::uint64_t> step;
  std::string phase;  ///< empty before the first marker
  OutOfMemory account;
  MemoryMap map;                ///< after everything that could be released was released
  std::vector<HeldBlock> held;  ///< by address; blocks that wait for other streams are not in it
};

/// Replays `trace` until a request fails; absent when none does. The observer of `options` is not
/// called. @throws InputError as replay()
std::optional<OomState> first_out_of_memory(const RequestTrace& trace,
                                            const ReplayOptions& options);

}  // namespace highwater
