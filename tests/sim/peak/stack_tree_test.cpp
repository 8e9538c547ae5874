// Values by call stack as a tree: sums, shared outer frames, and a bounded size.
#include "sim/peak/stack_tree.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

/// Interns a stack of functions, innermost first.
StackId stack(SideTables& tables, const std::vector<std::string>& functions) {
  std::vector<FrameId> frames;
  for (const std::string& name : functions) {
    frames.push_back(tables.stacks.intern_frame(
        {tables.strings.intern("a.py"), tables.strings.intern(name), 1}));
  }
  return tables.stacks.intern_stack(frames);
}

std::string name(const SideTables& tables, const StackNode& node) {
  return std::string(tables.strings[tables.stacks.frame(node.frame).function]);
}

std::size_t count(const StackNode& node) {
  std::size_t nodes = 1;
  for (const StackNode& child : node.children) {
    nodes += count(child);
  }
  return nodes;
}

}  // namespace

TEST_CASE("stack tree: outermost first, largest first, what all share cut off", "[sim][stacks]") {
  SideTables tables;
  const StackId forward = stack(tables, {"linear", "forward", "main", "run"});
  const StackId backward = stack(tables, {"backward", "main", "run"});
  const StackTree tree = stack_tree(tables, {{forward, 300}, {backward, 700}});
  REQUIRE(tree.common.size() == 2);
  CHECK(tables.strings[tables.stacks.frame(tree.common[0]).function] == "run");
  CHECK(tree.root.value == 1000);
  REQUIRE(tree.root.children.size() == 2);
  CHECK(name(tables, tree.root.children[0]) == "backward");
  CHECK(tree.root.children[0].value == 700);
  CHECK(name(tables, tree.root.children[1].children.at(0)) == "linear");
}

TEST_CASE("stack tree: stacks that are not known have a node of their own", "[sim][stacks]") {
  SideTables tables;
  const StackId known = stack(tables, {"main"});
  const StackTree tree = stack_tree(tables, {{known, 3}, {StackId::none(), 4}});
  REQUIRE(tree.root.children.size() == 2);
  CHECK_FALSE(tree.root.children[0].frame.has_value());
  CHECK(tree.root.children[0].value == 4);
}

TEST_CASE("stack tree: however many stacks, few nodes, and nothing is lost", "[sim][stacks]") {
  SideTables tables;
  StackValues values;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    values.emplace_back(
        stack(tables, {"f" + std::to_string(i), "g" + std::to_string(i % 70), "main"}), i);
    total += i;
  }
  const StackTree tree = stack_tree(tables, values, 200);
  CHECK(tree.root.value == total);
  CHECK(count(tree.root) <= 400);  // and at most one joined node beside each
  for (const StackNode& child : tree.root.children) {
    std::uint64_t sum = 0;
    for (const StackNode& grandchild : child.children) {
      sum += grandchild.value;
    }
    CHECK(sum == child.value);
  }
}

TEST_CASE("stack tree: a stack of absurd depth is cut", "[sim][stacks]") {
  SideTables tables;
  std::vector<std::string> functions;
  for (int i = 0; i < 100000; ++i) {
    functions.push_back("f" + std::to_string(i));
  }
  const StackTree tree = stack_tree(tables, {{stack(tables, functions), 8}});
  CHECK(tree.common.size() + count(tree.root) < 500);
}
