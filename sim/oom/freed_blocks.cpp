#include "sim/oom/freed_blocks.hpp"

#include <algorithm>
#include <map>

#include "sim/oom/trace_changes.hpp"

namespace highwater {
namespace {

/// Replays cost; sets beyond these are larger than those tried.
constexpr std::size_t kStacksTried = 8;
constexpr std::size_t kStretchesTried = 4;

Bytes total(const std::vector<HeldBlock>& blocks) {
  Bytes sum;
  for (const HeldBlock& block : blocks) {
    sum += block.size;
  }
  return sum;
}

/// Groups by call stack, most bytes first; within a group the largest blocks first.
std::vector<std::vector<HeldBlock>> by_stack(const OomState& state) {
  std::map<StackId, std::vector<HeldBlock>> groups;
  for (const HeldBlock& block : state.held) {
    groups[block.stack].push_back(block);
  }
  std::vector<std::vector<HeldBlock>> result;
  for (auto& [stack, blocks] : groups) {
    std::ranges::stable_sort(blocks, std::ranges::greater{}, &HeldBlock::size);
    result.push_back(std::move(blocks));
  }
  std::ranges::stable_sort(result, std::ranges::greater{}, total);
  return result;
}

/// The fewest blocks from the front of `blocks` that serve the request.
/// @pre all of them do
std::vector<HeldBlock> fewest(const RequestTrace& trace, const ReplayOptions& options,
                              const OomState& state, std::vector<HeldBlock> blocks) {
  std::size_t low = 0;
  std::size_t high = blocks.size();
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    const std::vector<HeldBlock> part(blocks.begin(),
                                      blocks.begin() + static_cast<std::ptrdiff_t>(middle));
    (serves_when_freed(trace, options, state, part) ? high : low) = middle;
  }
  blocks.resize(high);
  return blocks;
}

/// The stretch of `segment` that holds the request and has the fewest live bytes; absent when the
/// segment is too small. Blocks that wait for other streams cannot be freed by the program.
std::optional<std::vector<HeldBlock>> cheapest_stretch(const OomState& state, std::size_t index,
                                                       const std::vector<HeldBlock>& held) {
  const std::vector<MapBlock>& blocks = state.map.segments[index].blocks;
  std::map<std::size_t, HeldBlock> by_block;
  for (const HeldBlock& block : held) {
    by_block[block.block] = block;
  }
  std::optional<std::vector<HeldBlock>> best;
  for (std::size_t first = 0; first < blocks.size(); ++first) {
    Bytes width;
    std::vector<HeldBlock> stretch;
    for (std::size_t i = first; i < blocks.size() && width < state.account.rounded; ++i) {
      const auto owned = by_block.find(i);
      if (blocks[i].state != BlockState::inactive && owned == by_block.end()) {
        break;
      }
      width += blocks[i].size;
      if (owned != by_block.end()) {
        stretch.push_back(owned->second);
      }
    }
    if (width >= state.account.rounded && (!best || total(stretch) < total(*best))) {
      best = std::move(stretch);
    }
  }
  return best;
}

}  // namespace

bool serves_when_freed(const RequestTrace& trace, const ReplayOptions& options,
                       const OomState& state, const std::vector<HeldBlock>& blocks) {
  std::vector<AllocationId> freed;
  for (const HeldBlock& block : blocks) {
    freed.push_back(block.allocation);
  }
  ReplayOptions until = options;
  until.after_oom = AfterOom::stop;
  until.last_event = state.event + freed.size();
  return replay(with_frees_before(trace, state.event, freed), until).counts.ooms == 0;
}

std::optional<FreedBlocks> freed_of_one_stack(const RequestTrace& trace,
                                              const ReplayOptions& options, const OomState& state) {
  std::optional<FreedBlocks> best;
  const auto stacks = by_stack(state);
  for (std::size_t i = 0; i < std::min(stacks.size(), kStacksTried); ++i) {
    if (!serves_when_freed(trace, options, state, stacks[i])) {
      continue;
    }
    std::vector<HeldBlock> blocks = fewest(trace, options, state, stacks[i]);
    if (const Bytes bytes = total(blocks); !best || bytes < best->bytes) {
      best = FreedBlocks{std::move(blocks), bytes};
    }
  }
  return best;
}

std::optional<FreedBlocks> freed_stretch(const RequestTrace& trace, const ReplayOptions& options,
                                         const OomState& state) {
  std::map<std::size_t, std::vector<HeldBlock>> by_segment;
  for (const HeldBlock& block : state.held) {
    by_segment[block.segment].push_back(block);
  }
  std::vector<std::vector<HeldBlock>> stretches;
  for (const auto& [segment, held] : by_segment) {
    const MapSegment& place = state.map.segments[segment];
    const bool is_right =
        place.stream == state.account.stream && place.size >= state.account.rounded;
    if (auto stretch = is_right ? cheapest_stretch(state, segment, held) : std::nullopt;
        stretch && !stretch->empty()) {
      stretches.push_back(std::move(*stretch));
    }
  }
  std::ranges::stable_sort(stretches, {}, total);
  stretches.resize(std::min(stretches.size(), kStretchesTried));
  for (std::vector<HeldBlock>& stretch : stretches) {
    if (serves_when_freed(trace, options, state, stretch)) {
      const Bytes bytes = total(stretch);
      return FreedBlocks{std::move(stretch), bytes};
    }
  }
  return std::nullopt;
}

}  // namespace highwater
