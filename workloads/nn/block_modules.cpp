#include "workloads/nn/block_modules.hpp"

namespace highwater::nn {

std::vector<Module*> block_modules(Module& root) {
  std::vector<Module*> longest;
  if (dynamic_cast<Container*>(&root) != nullptr) {
    longest = root.children();
  }
  for (Module* child : root.children()) {
    if (auto found = block_modules(*child); found.size() > longest.size()) {
      longest = std::move(found);
    }
  }
  return longest;
}

}  // namespace highwater::nn
