// Bytes by call stack as a tree, outermost frame first: what a flame graph draws.
//
// Frames that all stacks share at the outside are cut off, and subtrees too narrow to be seen are
// joined, so that the tree has a bounded size; every node's value is the sum of its children and of
// what ends in it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "traces/ids.hpp"
#include "traces/stack_table.hpp"

namespace highwater {

struct StackNode {
  FrameId frame;                    ///< none: the root, an unknown stack, or joined nodes
  std::uint64_t value = 0;          ///< its own and its children's
  std::uint64_t joined = 0;         ///< how many narrow nodes were joined to this one
  std::vector<StackNode> children;  ///< largest first, joined ones last
};

struct StackTree {
  StackNode root;
  std::vector<FrameId> common;  ///< outer frames of all stacks, cut off; outermost first
};

/// A value per stack; stack none: unknown.
using StackValues = std::vector<std::pair<StackId, std::uint64_t>>;

/// At most about `max_nodes` nodes.
StackTree stack_tree(const SideTables& tables, const StackValues& values,
                     std::size_t max_nodes = 3000);

}  // namespace highwater
