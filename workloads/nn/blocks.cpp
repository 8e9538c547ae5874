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

// A list inside a block, such as T5's list of sublayers, is not looked at.
void find_longest_list(Module& module, Module*& longest) {
  if (is_list(module)) {
    const bool is_longer =
        longest == nullptr || module.children().size() > longest->children().size();
    longest = is_longer ? &module : longest;
    return;
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

Module* first_embedding_of(Module& module) {
  for (Module* child : module.children()) {
    Module* found =
        child->layer_kind() == LayerKind::embedding ? child : first_embedding_of(*child);
    if (found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

Module* last_child(Module& module, LayerKind kind) {
  Module* last = nullptr;
  for (Module* child : module.children()) {
    last = child->layer_kind() == kind ? child : last;
  }
  return last;
}

void collect_stacks(Module& module, std::vector<BlockStack>& found) {
  for (Module* child : module.children()) {
    if (is_list(*child)) {
      found.push_back({child, child->children(), last_child(module, LayerKind::norm)});
    } else {
      collect_stacks(*child, found);
    }
  }
}

// A module that has the list of blocks as a child, or `module` itself.
Module& decoder_of(Module& module, const Module& list) {
  for (Module* child : module.children()) {
    if (child == &list) {
      return module;
    }
    Module& decoder = decoder_of(*child, list);
    if (std::ranges::find(decoder.children(), &list) != decoder.children().end()) {
      return decoder;
    }
  }
  return module;
}

}  // namespace

ModelEnds model_ends(Module& root) {
  Module* list = nullptr;
  find_longest_list(root, list);
  Module& decoder = list == nullptr ? root : decoder_of(root, *list);
  return {.embedding = first_embedding_of(root),
          .final_norm = last_child(decoder, LayerKind::norm),
          .head = last_child(root, LayerKind::linear)};
}

std::vector<BlockStack> block_stacks(Module& root) {
  std::vector<BlockStack> found;
  collect_stacks(root, found);
  return found;
}

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
