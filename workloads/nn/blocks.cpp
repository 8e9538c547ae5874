#include "workloads/nn/blocks.hpp"

#include <algorithm>
#include <typeinfo>

namespace highwater::nn {
namespace {

// The items of an nn.ModuleList are called 0, 1, ...
bool is_list(const Module& module) {
  const auto is_number = [](const Module* child) {
    return std::ranges::all_of(child->name(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return !module.children().empty() && std::ranges::all_of(module.children(), is_number);
}

void find_longest_list(Module& module, Module*& longest) {
  if (is_list(module) &&
      (longest == nullptr || module.children().size() > longest->children().size())) {
    longest = &module;
  }
  for (Module* child : module.children()) {
    find_longest_list(*child, longest);
  }
}

void collect_like(Module& module, const Module& example, std::vector<Module*>& found) {
  if (typeid(module) == typeid(example)) {
    found.push_back(&module);
  }
  for (Module* child : module.children()) {
    collect_like(*child, example, found);
  }
}

}  // namespace

std::vector<Module*> block_modules(Module& root) {
  Module* longest = nullptr;
  find_longest_list(root, longest);
  return longest != nullptr ? longest->children() : std::vector<Module*>{};
}

std::vector<Module*> transformer_blocks(Module& root) {
  const std::vector<Module*> blocks = block_modules(root);
  std::vector<Module*> found;
  if (!blocks.empty()) {
    collect_like(root, *blocks.front(), found);
  }
  return found;
}

}  // namespace highwater::nn
