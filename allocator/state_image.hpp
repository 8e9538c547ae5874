// Everything that the next decisions of an allocator depend on, to be compared with a later image.
//
// Equal images, taken of one allocator at two moments between which its settings and pools did not
// change, mean that equal requests from there on are decided alike, address for address. Names that
// callers see (handles) are not part of it. Counters are: an allocator that has called its device
// in between is not where it was, since the device may answer differently.
#pragma once

#include <map>
#include <vector>

#include "allocator/block.hpp"
#include "allocator/statistics.hpp"
#include "allocator/stream_events.hpp"

namespace highwater {

struct StateImage {
  /// Blocks that wait for events, oldest first, by the stream of the events.
  using Waiting = std::map<StreamId, std::vector<Address>>;

  std::vector<Block> blocks;  ///< by address, without their neighbours' handles
  Counters counters;
  std::vector<StreamUses> uses;  ///< of those of the blocks that have some, in order
  Waiting recorded;
  Waiting completed;  ///< and not noticed so far

  bool operator==(const StateImage&) const = default;
};

}  // namespace highwater
