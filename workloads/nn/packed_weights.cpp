#include "workloads/nn/packed_weights.hpp"

namespace highwater::nn {
namespace {

void collect_packed(const Module& module, PackedWeights& packed) {
  for (const Module* child : module.children()) {
    const auto* linear = dynamic_cast<const Linear*>(child);
    if (linear != nullptr && linear->quantized() != nullptr) {
      packed.emplace(linear->weight.get(), linear->quantized());
    }
    collect_packed(*child, packed);
  }
}

}  // namespace

PackedWeights packed_weights(const Module& root) {
  PackedWeights packed;
  collect_packed(root, packed);
  return packed;
}

}  // namespace highwater::nn
