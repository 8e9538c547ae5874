#include "sim/packing/lower_bound.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "allocator/settings/constants.hpp"
#include "sim/replay/parallel.hpp"

namespace highwater {
namespace {

/// The most bytes alive, as asked for and rounded, and when. `blocks` are those of `lives`.
void find_highest_live(const Lifetimes& lives, const std::vector<PackingBlock>& blocks,
                       const OrderOfEnds& ends, LowerBound& bound) {
  Bytes live;
  Bytes rounded;
  const auto come = [&](std::size_t i) {
    live += lives.blocks[i].size;
    rounded += blocks[i].size;
    bound.live_rounded = std::max(bound.live_rounded, rounded);
    if (live > bound.live) {
      bound.live = live;
      bound.live_operation = blocks[i].begin;
    }
  };
  const auto go = [&](std::size_t i) {
    live -= lives.blocks[i].size;
    rounded -= blocks[i].size;
  };
  for_each_arrival(blocks, ends, come, go);
}

/// What a replay under `options` reserves; nobody watches it.
ReplayBar replay_bar(const RequestTrace& trace, ReplayOptions options) {
  options.observer = nullptr;
  options.listener = nullptr;
  options.decisions = DecisionDetail::none;
  return bar_of(replay(trace, options));
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
  const OrderOfEnds ends = order_of_ends(blocks);
  find_highest_live(lives, blocks, ends, bound);
  bound.packing = pack(blocks, ends, effort);
  bound.packed = bound.packing.height;
  return bound;
}

Bytes FourBars::most_to_win() const {
  return own.ran_out || own.reserved < bound.live ? Bytes{} : own.reserved - bound.live;
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
