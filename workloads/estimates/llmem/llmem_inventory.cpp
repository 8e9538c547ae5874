#include "workloads/estimates/llmem/llmem_inventory.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace highwater {
namespace {

bool is_split(const ParameterInfo& tensor) {
  return tensor.role == ParameterRole::embedding || tensor.role == ParameterRole::linear_weight ||
         tensor.role == ParameterRole::conv1d_weight;
}

// The published estimator asks for class names: "Embedding" in it, or equal to "Linear".
bool is_walked(const ParameterInfo& tensor) {
  return tensor.role == ParameterRole::embedding || tensor.role == ParameterRole::linear_weight ||
         tensor.role == ParameterRole::bias;
}

// "model.layers.0.fc1" of "model.layers.0.fc1.weight".
std::string_view module_of(const ParameterInfo& tensor) {
  const std::string_view name = tensor.name;
  return name.substr(0, std::min(name.rfind('.'), name.size()));
}

// transformers registers the head after the backbone: the last Linear of the model. Empty if it
// shares the embedding's weight.
std::string_view untied_head(const std::vector<ParameterInfo>& tensors, const ModelShape& shape) {
  const auto last = std::find_if(tensors.rbegin(), tensors.rend(), [](const ParameterInfo& tensor) {
    return tensor.role == ParameterRole::linear_weight;
  });
  return shape.tied || last == tensors.rend() ? std::string_view{} : module_of(*last);
}

// CodeGen's forward casts logits to fp32, GPT-Neo's loss does; the other models keep fp16 (LLMem
// section 4; the published estimator looks for "codegen" and "neo" in the model's name).
std::int64_t logit_bytes(const ModelSpec& spec) {
  const std::string_view family = family_name(spec);
  return family == "codegen" || family == "gpt_neo" ? 4 : 2;
}

const ParameterInfo& token_embedding(const std::vector<ParameterInfo>& tensors) {
  return *std::ranges::find(tensors, ParameterRole::embedding, &ParameterInfo::role);
}

// Sorts the tensors into the lists and sums; an empty `head` means that it is tied and not among
// them. The token embedding is part of other_p until it is taken out.
void add_tensors(LlmemInventory& inventory, const std::vector<ParameterInfo>& tensors,
                 std::string_view head) {
  std::vector<std::int64_t> head_tensors;
  for (const ParameterInfo& tensor : tensors) {
    if (!head.empty() && module_of(tensor) == head) {
      head_tensors.push_back(tensor.elements);
      continue;
    }
    inventory.other_p += tensor.elements;
    if (is_split(tensor)) {
      inventory.moment_tensors.push_back(tensor.elements);
    }
    if (is_walked(tensor)) {
      inventory.walked_tensors.push_back(tensor.elements);
    }
  }
  if (!head_tensors.empty()) {
    inventory.lm_p = head_tensors.front();  // its weight comes before its bias
    inventory.walked_tensors.insert(inventory.walked_tensors.end(), head_tensors.begin(),
                                    head_tensors.end());
  }
}

}  // namespace

LlmemInventory llmem_inventory(const ModelSpec& spec, std::vector<ParameterInfo> tensors) {
  const ModelShape shape = shape_of(spec);
  const ParameterInfo& embedding = token_embedding(tensors);
  LlmemInventory inventory;
  add_tensors(inventory, tensors, untied_head(tensors, shape));
  inventory.embed_p = embedding.elements;
  inventory.other_p -= embedding.elements;
  if (inventory.lm_p == 0) {
    inventory.lm_p = embedding.elements;
    inventory.walked_tensors.push_back(embedding.elements);
  }
  inventory.e_n = std::ranges::count(tensors, ParameterRole::embedding, &ParameterInfo::role);
  inventory.l_n = shape.layers;
  inventory.on = shape.hidden;
  inventory.embed_n = embedding.sizes.back();
  inventory.V = shape.vocab;
  inventory.B = logit_bytes(spec);
  inventory.tensors = std::move(tensors);
  return inventory;
}

std::vector<std::int64_t> llmem_local_sizes(const LlmemInventory& inventory, int tp_n) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(inventory.tensors.size());
  for (const ParameterInfo& tensor : inventory.tensors) {
    sizes.push_back(is_split(tensor) ? (tensor.elements + tp_n - 1) / tp_n : tensor.elements);
  }
  return sizes;
}

}  // namespace highwater
