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
  return bar_of(replay(trace, options));
}

}  // namespace

ReplayBar bar_of(const ReplayResult& result) {
  return {result.peak.reserved, result.peak.active, !result.ooms.empty()};
}

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

FourBars four_bars(const RequestTrace& trace, const ReplayOptions& options,
                   const PackingEffort& effort) {
  ReplayOptions own = options;
  own.observer = nullptr;
  own.listener = nullptr;
  own.decisions = DecisionDetail::none;
  return four_bars(trace, own, replay_bar(trace, own), effort);
}

FourBars four_bars(const RequestTrace& trace, const ReplayOptions& options, const ReplayBar& own,
                   const PackingEffort& effort) {
  FourBars bars;
  bars.own = own;
  const auto under = [&](const Settings& settings) {
    ReplayOptions other = options;
    other.settings = settings;
    return settings == options.settings ? own : replay_bar(trace, other);
  };
  Settings expandable = options.settings;
  expandable.expandable_segments = true;
  const std::array<std::function<void()>, 3> work{
      [&] { bars.bound = lower_bound_of(trace, effort); },
      [&] { bars.expandable = under(expandable); },
      [&] { bars.standard = under(Settings{}); },
  };
  for_each_index(work.size(), [&work](std::size_t i) { work[i](); });
  return bars;
}

}  // namespace highwater
