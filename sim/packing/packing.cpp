#include "sim/packing/packing.hpp"

#include <algorithm>
#include <utility>

#include "sim/packing/order_of_ends.hpp"
#include "sim/packing/packing_greedy.hpp"
#include "sim/packing/packing_in_time.hpp"

namespace highwater {
namespace {

void keep_lower(Packing& best, Packing other) {
  if (!other.offsets.empty() && other.height < best.height) {
    best = std::move(other);
  }
}

}  // namespace

Bytes max_live(std::span<const PackingBlock> blocks) {
  const std::vector<std::uint32_t> ends = order_of_ends(blocks);
  Bytes live;
  Bytes highest;
  auto gone = ends.begin();
  for (const PackingBlock& block : blocks) {
    for (; blocks[*gone].end <= block.begin; ++gone) {
      live -= blocks[*gone].size;
    }
    live += block.size;
    highest = std::max(highest, live);
  }
  return highest;
}

Packing pack(std::span<const PackingBlock> blocks, const PackingEffort& effort) {
  const Bytes live = max_live(blocks);
  const Bytes target{live.count() + static_cast<std::uint64_t>(effort.good_enough *
                                                               static_cast<double>(live.count()))};
  Packing best = pack_in_time(blocks, TimeOrder::forward);
  if (best.height > target) {
    keep_lower(best, pack_in_time(blocks, TimeOrder::backward));
  }
  if (best.height > target) {
    keep_lower(best, pack_greedily(blocks, target, effort.steps));
  }
  return best;
}

}  // namespace highwater
