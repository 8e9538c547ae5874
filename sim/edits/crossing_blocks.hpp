// Which blocks of a step take the place of which of the step before: what steps hand on to each
// other, when one of them is left out or happens once more.
//
// A block that a step frees although an earlier one made it, and a block that the step makes and
// leaves behind, are the same thing at two times if size, stream and call site are equal: the loss,
// gradients that the next step zeroes. Where sizes vary (a prefetched batch), stream and site do.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/edits/edit.hpp"
#include "sim/steps/training_steps.hpp"

namespace highwater {

/// What makes two blocks the same thing at two times.
struct Likeness {
  std::uint64_t bytes = 0;
  StreamId stream;
  StackId stack;

  auto operator<=>(const Likeness&) const = default;
};

struct CrossingBlock {
  AllocationId id;
  Likeness likeness;
};

/// `older` is freed in the step, and `younger`, made there, lives on in its place.
struct Succession {
  AllocationId older;
  AllocationId younger;
};

struct CrossingBlocks {
  std::vector<Succession> successions;
  std::vector<CrossingBlock> left_behind;  ///< made in the step, outliving it, without an older one
  std::vector<bool> made;                  ///< by AllocationId: in the step
  std::uint64_t blocks = 0;                ///< made in the step
  Bytes bytes;                             ///< requested by these
};

CrossingBlocks crossing_blocks(const RequestTrace& trace, const StepSpan& step);

/// A block that the step leaves behind, and the one that the step beside it leaves likewise.
struct LeftByEach {
  AllocationId id;
  AllocationId beside;
};

/// Of what the step leaves behind that which every step adds, as the step `beside` shows. The rest
/// is made once and kept (optimizer states). Null: nothing is known of other steps.
std::vector<LeftByEach> left_by_each(const RequestTrace& trace, const CrossingBlocks& blocks,
                                     const StepSpan* beside);

/// What remains of `blocks.left_behind`.
std::vector<CrossingBlock> left_once(const CrossingBlocks& blocks,
                                     const std::vector<LeftByEach>& by_each);

Bytes bytes_of(const std::vector<CrossingBlock>& blocks);

}  // namespace highwater
