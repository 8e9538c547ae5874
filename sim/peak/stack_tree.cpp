#include "sim/peak/stack_tree.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <ranges>

namespace highwater {
namespace {

/// Deeper stacks, which no real program has, are cut: the tree is walked recursively.
constexpr std::size_t kMaxDepth = 400;

auto outermost_first(const SideTables& tables, StackId stack) {
  return tables.stacks.stack(stack) | std::views::reverse | std::views::take(kMaxDepth);
}

/// A node while the tree is built: children by frame, frame none for unknown stacks.
struct Growing {
  std::uint64_t value = 0;
  std::map<FrameId, std::unique_ptr<Growing>> children;

  Growing& child(FrameId frame) {
    std::unique_ptr<Growing>& slot = children[frame];
    if (!slot) {
      slot = std::make_unique<Growing>();
    }
    return *slot;
  }
};

Growing grow(const SideTables& tables, const StackValues& values) {
  Growing root;
  for (const auto& [stack, value] : values) {
    root.value += value;
    if (!stack.has_value() || tables.stacks.stack(stack).empty()) {
      root.child(FrameId::none()).value += value;
      continue;
    }
    Growing* node = &root;
    for (const FrameId frame : outermost_first(tables, stack)) {
      node = &node->child(frame);
      node->value += value;
    }
  }
  return root;
}

std::size_t nodes_above(const Growing& node, std::uint64_t narrow) {
  std::size_t count = 1;
  for (const auto& [frame, child] : node.children) {
    count += child->value >= narrow ? nodes_above(*child, narrow) : 0;
  }
  return count;
}

/// The value that at most `max_nodes` nodes reach.
std::uint64_t narrowest(const Growing& root, std::size_t max_nodes) {
  std::uint64_t narrow = std::max<std::uint64_t>(1, root.value / 2000);
  while (nodes_above(root, narrow) > max_nodes) {
    narrow *= 2;
  }
  return narrow;
}

StackNode finish(FrameId frame, const Growing& growing, std::uint64_t narrow) {
  StackNode node{.frame = frame, .value = growing.value, .joined = 0, .children = {}};
  StackNode rest;
  for (const auto& [child_frame, child] : growing.children) {
    if (child->value >= narrow) {
      node.children.push_back(finish(child_frame, *child, narrow));
    } else {
      rest.value += child->value;
      ++rest.joined;
    }
  }
  std::ranges::stable_sort(node.children, std::ranges::greater{}, &StackNode::value);
  if (rest.value > 0) {
    node.children.push_back(std::move(rest));
  }
  return node;
}

}  // namespace

StackTree stack_tree(const SideTables& tables, const StackValues& values, std::size_t max_nodes) {
  const Growing root = grow(tables, values);
  StackTree tree;
  const Growing* top = &root;
  while (top->children.size() == 1) {
    const auto& [frame, only] = *top->children.begin();
    if (only->value != top->value || only->children.empty()) {
      break;
    }
    tree.common.push_back(frame);
    top = only.get();
  }
  tree.root = finish(FrameId::none(), *top, narrowest(*top, max_nodes));
  return tree;
}

}  // namespace highwater
