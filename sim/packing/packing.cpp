#include "sim/packing/packing.hpp"

#include <algorithm>
#include <utility>

#include "sim/packing/packing_greedy.hpp"
#include "sim/packing/packing_in_time.hpp"

namespace highwater {
namespace {

/// The most bytes alive at once: no packing is lower.
Bytes max_live(std::span<const PackingBlock> blocks, const OrderOfEnds& ends) {
  Bytes live;
  Bytes highest;
  const auto come = [&](std::size_t i) {
    live += blocks[i].size;
    highest = std::max(highest, live);
  };
  for_each_arrival(blocks, ends, come, [&](std::size_t i) { live -= blocks[i].size; });
  return highest;
}

void keep_lower(Packing& best, Packing other) {
  if (!other.offsets.empty() && other.height < best.height) {
    best = std::move(other);
  }
}

}  // namespace

Packing pack(std::span<const PackingBlock> blocks, const OrderOfEnds& ends,
             const PackingEffort& effort) {
  const Bytes live = max_live(blocks, ends);
  const Bytes target{live.count() + static_cast<std::uint64_t>(effort.good_enough *
                                                               static_cast<double>(live.count()))};
  Packing best = pack_in_time(blocks, ends, TimeOrder::forward);
  if (best.height > target) {
    keep_lower(best, pack_in_time(blocks, ends, TimeOrder::backward));
  }
  if (best.height > target) {
    keep_lower(best, pack_greedily(blocks, ends, target, effort.steps));
  }
  return best;
}

}  // namespace highwater
