#include "sim/packing/lower_bound.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "allocator/settings/constants.hpp"
#include "sim/packing/order_of_ends.hpp"
#include "sim/replay/parallel.hpp"

namespace highwater {
namespace {

/// The most bytes alive, as asked for and rounded, and when. `blocks` are those of `lives`.
void find_highest_live(const Lifetimes& lives, const std::vector<PackingBlock>& blocks,
                       LowerBound& bound) {
  const std::vector<std::uint32_t> ends = order_of_ends(blocks);
  Bytes live;
  Bytes rounded;
  auto gone = ends.begin();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (; blocks[*gone].end <= blocks[i].begin; ++gone) {
      live -= lives.blocks[*gone].size;
      rounded -= blocks[*gone].size;
    }
    live += lives.blocks[i].size;
    rounded += blocks[i].size;
    bound.live_rounded = std::max(bound.live_rounded, rounded);
    if (live > bound.live) {
      bound.live = live;
      bound.live_operation = blocks[i].begin;
    }
  }
}

ReplayBar replay_bar(const RequestTrace& trace, const ReplayOptions& options) {
  const ReplayResult result = replay(trace, options);
  return {result.peak.reserved, result.peak.active, !result.ooms.empty()};
}

}  // namespace

double LowerBound::gap() const {
  return live_rounded.count() == 0
             ? 0.0
             : static_cast<double>(packed.count()) / static_cast<double>(live_rounded.count()) -
                   1.0;
}

LowerBound lower_bound_of(const RequestTrace& trace, const PackingEffort& effort) {
  const Lifetimes lives = lifetimes_of(trace);
  LowerBound bound;
  std::vector<PackingBlock> blocks;
  blocks.reserve(lives.blocks.size());
  bound.allocations.reserve(lives.blocks.size());
  for (const Lifetime& life : lives.blocks) {
    blocks.push_back({round_up(life.size, kMinBlockSize), life.begin, life.end});
    bound.allocations.push_back(life.allocation);
  }
  find_highest_live(lives, blocks, bound);
  bound.packing = pack(blocks, effort);
  bound.packed = bound.packing.height;
  return bound;
}

Bytes FourBars::most_to_win() const {
  return own.ran_out || own.reserved < bound.live ? Bytes{} : own.reserved - bound.live;
}

FourBars four_bars(const RequestTrace& trace, ReplayOptions options, const PackingEffort& effort) {
  options.observer = nullptr;
  options.listener = nullptr;
  options.decisions = DecisionDetail::none;
  ReplayOptions expandable = options;
  expandable.settings.expandable_segments = true;
  ReplayOptions standard = options;
  standard.settings = Settings{};
  FourBars bars;
  const std::array<std::function<void()>, 4> work{
      [&] { bars.bound = lower_bound_of(trace, effort); },
      [&] { bars.own = replay_bar(trace, options); },
      [&] { bars.expandable = replay_bar(trace, expandable); },
      [&] { bars.standard = replay_bar(trace, standard); },
  };
  for_each_index(work.size(), [&work](std::size_t i) { work[i](); });
  return bars;
}

}  // namespace highwater
