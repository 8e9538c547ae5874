#include "sim/packing/packing.hpp"

#include <algorithm>
#include <utility>

#include "sim/packing/order_of_ends.hpp"
#include "sim/packing/packing_greedy.hpp"
#include "sim/packing/packing_in_time.hpp"

namespace highwater {
namespace {

using Order = std::vector<std::uint32_t>;

Bytes max_live(std::span<const PackingBlock> blocks, const Order& ends) {
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

void keep_lower(Packing& best, Packing other) {
  if (!other.offsets.empty() && other.height < best.height) {
    best = std::move(other);
  }
}

}  // namespace

Bytes max_live(std::span<const PackingBlock> blocks) {
  return max_live(blocks, order_of_ends(blocks));
}

Packing pack(std::span<const PackingBlock> blocks, const PackingEffort& effort) {
  const Order ends = order_of_ends(blocks);
  const Bytes live = max_live(blocks, ends);
  const Bytes target{live.count() + static_cast<std::uint64_t>(effort.good_enough *
                                                               static_cast<double>(live.count()))};
  Packing best = pack_in_time(blocks, ends, TimeOrder::forward);
  if (best.height > target) {
    keep_lower(best, pack_in_time(blocks, ends, TimeOrder::backward));
  }
  if (best.height > target) {
    keep_lower(best, pack_greedily(blocks, target, effort.steps));
  }
  return best;
}

}  // namespace highwater
