#include "sim/edits/crossing_blocks.hpp"

#include <map>
#include <optional>
#include <utility>

namespace highwater {
namespace {

/// Made before the step and freed in it; and made in it and not freed there. In the order in which
/// they were made.
struct BothSides {
  std::vector<CrossingBlock> older;
  std::vector<CrossingBlock> younger;
};

/// By AllocationId: freed in the step. Notes in `blocks` what is made there.
std::vector<bool> freed_in(const RequestTrace& trace, const StepSpan& step,
                           CrossingBlocks& blocks) {
  std::vector<bool> freed(trace.allocation_count);
  blocks.made.resize(trace.allocation_count);
  for (std::size_t i = step.begin; i < step.end; ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::alloc) {
      blocks.made[event.allocation.index()] = true;
      ++blocks.blocks;
      blocks.bytes += event.bytes();
    } else if (event.kind == EventKind::free) {
      freed[event.allocation.index()] = true;
    }
  }
  return freed;
}

BothSides both_sides(const RequestTrace& trace, const StepSpan& step, CrossingBlocks& blocks) {
  const std::vector<bool> freed = freed_in(trace, step, blocks);
  BothSides sides;
  for (std::size_t i = 0; i < step.end; ++i) {
    const Event& event = trace.events[i];
    if (event.kind != EventKind::alloc) {
      continue;
    }
    const bool is_made = blocks.made[event.allocation.index()];
    if (freed[event.allocation.index()] != is_made) {
      (is_made ? sides.younger : sides.older)
          .push_back({event.allocation, {event.value, event.stream, event.stack}});
    }
  }
  return sides;
}

/// Makes pairs of those whose `key` is equal, in order, and takes them out of `sides`.
template <class Key>
void pair_up(BothSides& sides, Key key, CrossingBlocks& blocks) {
  std::map<Likeness, std::vector<AllocationId>> older;
  for (auto block = sides.older.rbegin(); block != sides.older.rend(); ++block) {
    if (const auto likeness = key(*block)) {
      older[*likeness].push_back(block->id);
    }
  }
  std::vector<bool> is_paired(blocks.made.size());
  for (const CrossingBlock& block : sides.younger) {
    const auto likeness = key(block);
    const auto alike = likeness ? older.find(*likeness) : older.end();
    if (alike != older.end() && !alike->second.empty()) {
      blocks.successions.push_back({alike->second.back(), block.id});
      is_paired[block.id.index()] = is_paired[alike->second.back().index()] = true;
      alike->second.pop_back();
    }
  }
  const auto is_done = [&](const CrossingBlock& block) { return is_paired[block.id.index()]; };
  std::erase_if(sides.older, is_done);
  std::erase_if(sides.younger, is_done);
}

}  // namespace

CrossingBlocks crossing_blocks(const RequestTrace& trace, const StepSpan& step) {
  CrossingBlocks result;
  BothSides sides = both_sides(trace, step, result);
  pair_up(
      sides, [](const CrossingBlock& block) { return std::optional(block.likeness); }, result);
  pair_up(
      sides,
      [](const CrossingBlock& block) {
        const Likeness place{0, block.likeness.stream, block.likeness.stack};
        return block.likeness.stack.has_value() ? std::optional(place) : std::nullopt;
      },
      result);
  result.left_behind = std::move(sides.younger);
  return result;
}

std::vector<LeftByEach> left_by_each(const RequestTrace& trace, const CrossingBlocks& blocks,
                                     const StepSpan* beside) {
  std::map<Likeness, std::vector<AllocationId>> left;
  if (beside != nullptr) {
    const CrossingBlocks others = crossing_blocks(trace, *beside);
    for (auto other = others.left_behind.rbegin(); other != others.left_behind.rend(); ++other) {
      left[other->likeness].push_back(other->id);
    }
  }
  std::vector<LeftByEach> result;
  for (const CrossingBlock& block : blocks.left_behind) {
    std::vector<AllocationId>& alike = left[block.likeness];
    if (!alike.empty()) {
      result.push_back({block.id, alike.back()});
      alike.pop_back();
    }
  }
  return result;
}

std::vector<CrossingBlock> left_once(const CrossingBlocks& blocks,
                                     const std::vector<LeftByEach>& by_each) {
  std::vector<CrossingBlock> result;
  auto next = by_each.begin();  // in the order of left_behind
  for (const CrossingBlock& block : blocks.left_behind) {
    if (next != by_each.end() && next->id == block.id) {
      ++next;
    } else {
      result.push_back(block);
    }
  }
  return result;
}

Bytes bytes_of(const std::vector<CrossingBlock>& blocks) {
  Bytes bytes;
  for (const CrossingBlock& block : blocks) {
    bytes += Bytes{block.likeness.bytes};
  }
  return bytes;
}

}  // namespace highwater
