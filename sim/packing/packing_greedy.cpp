#include "sim/packing/packing_greedy.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

namespace highwater {
namespace {

constexpr std::uint64_t kShortestStretch = 256;   // blocks; shorter ones cut through every layer
constexpr std::uint64_t kLongestStretch = 20000;  // blocks; one try takes about 0.1 s
constexpr std::uint64_t kTries = 2;               // of a stretch that the steps are planned for
constexpr int kRounds = 60;                       // with the blocks that stood out first

/// A placed block.
struct Slot {
  std::uint64_t bottom = 0;
  std::uint64_t top = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] bool overlaps(const PackingBlock& block) const {
    return begin < block.end && block.begin < end;
  }
};

using Index = std::uint32_t;
using Indices = std::vector<Index>;

enum class Importance : std::uint8_t { size, area, lifetime };
constexpr std::array kImportances{Importance::size, Importance::area, Importance::lifetime};

/// Blocks [first, last) in order of begin, and the time they span.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Bytes alive just before each block comes.
std::vector<std::uint64_t> live_before(std::span<const PackingBlock> blocks,
                                       const OrderOfEnds& ends) {
  std::vector<std::uint64_t> live(blocks.size());
  std::uint64_t now = 0;
  const auto come = [&](std::size_t i) {
    live[i] = now;
    now += blocks[i].size.count();
  };
  for_each_arrival(blocks, ends, come, [&](std::size_t i) { now -= blocks[i].size.count(); });
  return live;
}

/// Stretches of `length` blocks at most and half of it at least, cut where the least is alive.
std::vector<Stretch> cut(std::span<const PackingBlock> blocks, const OrderOfEnds& ends,
                         std::size_t length) {
  const std::vector<std::uint64_t> live =
      blocks.size() > length ? live_before(blocks, ends) : std::vector<std::uint64_t>{};
  std::vector<Stretch> stretches;
  std::size_t first = 0;
  while (blocks.size() - first > length) {
    const auto from = live.begin() + static_cast<std::ptrdiff_t>(first + length / 2);
    const auto to = live.begin() + static_cast<std::ptrdiff_t>(first + length);
    const auto last = static_cast<std::size_t>(std::min_element(from, to) - live.begin());
    stretches.push_back({first, last, blocks[first].begin, blocks[last].begin});
    first = last;
  }
  const auto last_to_go = std::ranges::max_element(blocks, {}, &PackingBlock::end);
  stretches.push_back({first, blocks.size(), blocks[first].begin, last_to_go->end});
  return stretches;
}

class GreedyPacker {
 public:
  GreedyPacker(std::span<const PackingBlock> blocks, Bytes target, std::uint64_t steps)
      : blocks_(blocks), target_(target.count()), steps_left_(steps), offsets_(blocks.size()) {}

  Packing pack(const OrderOfEnds& ends, std::size_t stretch_length);

 private:
  /// The placement of some blocks: bottom by position in the order they were placed.
  struct Placement {
    Indices order;
    std::vector<std::uint64_t> bottoms;
    std::uint64_t height = 0;
  };

  [[nodiscard]] Indices ordered(Indices blocks, Importance importance) const;
  [[nodiscard]] Slot slot(Index i, std::uint64_t bottom) const;
  std::uint64_t lowest_offset(const std::vector<Slot>& placed, const PackingBlock& block);
  Placement place(Indices order, std::vector<Slot> placed);
  Placement place_stretch(const Indices& local, const std::vector<Slot>& obstacles,
                          std::uint64_t goal, std::uint64_t steps);
  [[nodiscard]] std::vector<Slot> obstacles_of(const Stretch& stretch,
                                               const std::vector<Slot>& crossing) const;
  std::optional<std::uint64_t> pack_once(const std::vector<Stretch>& stretches,
                                         Importance importance, std::uint64_t steps);
  void keep(const Placement& placement);

  std::span<const PackingBlock> blocks_;
  std::uint64_t target_;
  std::uint64_t steps_left_;
  std::vector<std::uint64_t> offsets_;
};

Indices GreedyPacker::ordered(Indices order, Importance importance) const {
  const auto key = [&](Index i) -> std::pair<double, double> {
    const PackingBlock& block = blocks_[i];
    const double size = static_cast<double>(block.size.count());
    const double life = static_cast<double>(block.end - block.begin);
    switch (importance) {
      case Importance::size:
        return {size, life};
      case Importance::area:
        return {size * life, size};
      case Importance::lifetime:
        break;
    }
    return {life, size};
  };
  std::ranges::stable_sort(order, std::ranges::greater{}, key);
  return order;
}

Slot GreedyPacker::slot(Index i, std::uint64_t bottom) const {
  const PackingBlock& block = blocks_[i];
  return {bottom, bottom + block.size.count(), block.begin, block.end};
}

/// `placed` is in order of bottoms.
std::uint64_t GreedyPacker::lowest_offset(const std::vector<Slot>& placed,
                                          const PackingBlock& block) {
  std::uint64_t reached = 0;
  std::uint64_t looked_at = 0;
  for (const Slot& other : placed) {
    ++looked_at;
    if (other.overlaps(block)) {
      if (other.bottom >= reached + block.size.count()) {
        break;
      }
      reached = std::max(reached, other.top);
    }
  }
  steps_left_ -= std::min(steps_left_, looked_at);
  return reached;
}

/// Places the blocks in this order among those `placed`, which are in order of bottoms.
GreedyPacker::Placement GreedyPacker::place(Indices order, std::vector<Slot> placed) {
  Placement placement;
  placement.order = std::move(order);
  placed.reserve(placed.size() + placement.order.size());
  for (const Index i : placement.order) {
    const std::uint64_t bottom = lowest_offset(placed, blocks_[i]);
    const Slot added = slot(i, bottom);
    placed.insert(std::ranges::upper_bound(placed, bottom, {}, &Slot::bottom), added);
    placement.bottoms.push_back(bottom);
    placement.height = std::max(placement.height, added.top);
  }
  return placement;
}

/// The best of all orders and rounds; stops as soon as `goal` is kept.
GreedyPacker::Placement GreedyPacker::place_stretch(const Indices& local,
                                                    const std::vector<Slot>& obstacles,
                                                    std::uint64_t goal, std::uint64_t steps) {
  const std::uint64_t stop_at = steps_left_ - std::min(steps_left_, steps);
  Placement best;
  for (const Importance importance : kImportances) {
    if (best.order.empty() || (best.height > goal && steps_left_ > stop_at)) {
      Placement next = place(ordered(local, importance), obstacles);
      if (best.order.empty() || next.height < best.height) {
        best = std::move(next);
      }
    }
  }
  Placement current = best;
  for (int round = 0; round < kRounds && best.height > goal && steps_left_ > stop_at; ++round) {
    Indices order;
    Indices rest;
    for (std::size_t k = 0; k < current.order.size(); ++k) {
      const Index i = current.order[k];
      const bool stands_out = current.bottoms[k] + blocks_[i].size.count() > goal;
      (stands_out ? order : rest).push_back(i);
    }
    order.insert(order.end(), rest.begin(), rest.end());
    current = place(std::move(order), obstacles);
    if (current.height < best.height) {
      best = current;
    }
  }
  return best;
}

/// What crosses the stretch; blocks there from begin to end that touch are taken as one.
std::vector<Slot> GreedyPacker::obstacles_of(const Stretch& stretch,
                                             const std::vector<Slot>& crossing) const {
  std::vector<Slot> obstacles;
  for (const Slot& slot : crossing) {
    if (slot.begin >= stretch.end || slot.end <= stretch.begin) {
      continue;
    }
    const bool throughout = slot.begin <= stretch.begin && slot.end >= stretch.end;
    if (throughout && !obstacles.empty() && obstacles.back().top == slot.bottom &&
        obstacles.back().begin <= stretch.begin && obstacles.back().end >= stretch.end) {
      obstacles.back().top = slot.top;
    } else {
      obstacles.push_back(slot);
    }
  }
  return obstacles;
}

void GreedyPacker::keep(const Placement& placement) {
  for (std::size_t k = 0; k < placement.order.size(); ++k) {
    offsets_[placement.order[k]] = placement.bottoms[k];
  }
}

/// Crossing blocks in the order of `importance`, then stretch by stretch; the height, or nothing
/// when the steps do not suffice for one try of each.
std::optional<std::uint64_t> GreedyPacker::pack_once(const std::vector<Stretch>& stretches,
                                                     Importance importance, std::uint64_t steps) {
  const std::uint64_t stop_at = steps_left_ - std::min(steps_left_, steps);
  std::vector<Indices> local(stretches.size());
  Indices crossing;
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    for (std::size_t i = stretches[s].first; i < stretches[s].last; ++i) {
      (blocks_[i].end <= stretches[s].end ? local[s] : crossing).push_back(static_cast<Index>(i));
    }
  }
  if (crossing.size() * crossing.size() / 2 > steps) {
    return std::nullopt;
  }
  const Placement bottom = place(ordered(std::move(crossing), importance), {});
  keep(bottom);
  std::vector<Slot> slots;
  for (std::size_t k = 0; k < bottom.order.size(); ++k) {
    slots.push_back(slot(bottom.order[k], bottom.bottoms[k]));
  }
  std::ranges::stable_sort(slots, {}, &Slot::bottom);
  std::uint64_t height = bottom.height;
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    if (s > 0 && steps_left_ == 0) {
      return std::nullopt;
    }
    const std::uint64_t share =
        (steps_left_ - std::min(steps_left_, stop_at)) / (stretches.size() - s);
    const Placement placement = place_stretch(local[s], obstacles_of(stretches[s], slots),
                                              std::max(height, target_), share);
    keep(placement);
    height = std::max(height, placement.height);
  }
  return height;
}

Packing GreedyPacker::pack(const OrderOfEnds& ends, std::size_t stretch_length) {
  const std::vector<Stretch> stretches = cut(blocks_, ends, stretch_length);
  const std::size_t passes = stretches.size() == 1 ? 1 : kImportances.size();
  Packing best;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const bool is_done = !best.offsets.empty() && best.height.count() <= target_;
    if (pass > 0 && (is_done || steps_left_ == 0)) {
      break;
    }
    const Importance importance = kImportances[kImportances.size() - 1 - pass];
    const std::optional<std::uint64_t> height =
        pack_once(stretches, importance, steps_left_ / (passes - pass));
    if (height && (best.offsets.empty() || Bytes{*height} < best.height)) {
      best.height = Bytes{*height};
      best.offsets.clear();
      std::ranges::transform(offsets_, std::back_inserter(best.offsets),
                             [](std::uint64_t offset) { return Bytes{offset}; });
    }
  }
  best.method = "greedy";
  return best;
}

}  // namespace

Packing pack_greedily(std::span<const PackingBlock> blocks, const OrderOfEnds& ends, Bytes target,
                      std::uint64_t steps) {
  // A try looks at half of a stretch for each of its blocks.
  const std::uint64_t affordable = blocks.empty() ? 0 : 2 * steps / kTries / blocks.size();
  if (affordable < kShortestStretch) {
    return {};
  }
  return GreedyPacker(blocks, target, steps).pack(ends, std::min(affordable, kLongestStretch));
}

}  // namespace highwater
