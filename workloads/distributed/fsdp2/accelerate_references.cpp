#include "workloads/distributed/fsdp2/accelerate_references.hpp"

#include <algorithm>
#include <ranges>

#include "workloads/nn/blocks.hpp"
#include "workloads/nn/packed_weights.hpp"

namespace highwater::dist {

using eager::Tensor;
using eager::TensorList;

namespace {

std::string_view owner_of(const nn::NamedTensor& parameter) {
  const std::string_view name = parameter.name;
  return name.substr(0, name.rfind('.'));
}

void release_in_order(TensorList& tensors) {
  for (Tensor& tensor : tensors) {
    tensor.reset();
  }
  tensors.clear();
}

}  // namespace

AccelerateReferences::AccelerateReferences(nn::Module& model) : model_(model) {
  if (model.context().place != eager::Place::cuda) {
    return;
  }
  for (const Tensor& parameter : nn::trainable_parameters(model)) {
    placeholders_.push_back(eager::empty(model.runtime(), {1}, parameter.dtype()));
    last_trained_ = eager::alias(parameter);
  }
}

// A module's own parameters, then what it saves besides, then its children's.
void AccelerateReferences::take_state_dict() {
  if (model_.context().place != eager::Place::cuda) {
    return;
  }
  const nn::PackedWeights packed = nn::packed_weights(model_);
  const std::vector<nn::NamedTensor> parameters = nn::named_parameters(model_);
  const nn::QuantizedWeight* saved = nullptr;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    state_dict_.push_back(eager::alias(parameters[i].tensor));
    if (const auto found = packed.find(parameters[i].tensor.get()); found != packed.end()) {
      saved = found->second;
    }
    const bool is_last =
        i + 1 == parameters.size() || owner_of(parameters[i + 1]) != owner_of(parameters[i]);
    if (is_last && saved != nullptr) {
      std::ranges::copy(saved->saved_state(), std::back_inserter(state_dict_));
      saved = nullptr;
    }
  }
}

void AccelerateReferences::keep_ends(const std::vector<Tensor>& params) {
  const nn::ModelEnds ends = nn::model_ends(model_);
  for (nn::Module* module : {ends.embedding, ends.head}) {
    const Tensor* const weight =
        module == nullptr ? nullptr : &module->own_parameters().front().tensor;
    if (weight != nullptr &&
        std::ranges::find(params, weight->get(), &Tensor::get) != params.end()) {
      ends_.push_back(eager::alias(*weight));
    }
  }
}

// The list of the optimizer's parameters is replaced after; a list releases its last item first.
void AccelerateReferences::release() {
  release_in_order(state_dict_);
  release_in_order(ends_);
  last_trained_.reset();
  std::ranges::reverse(placeholders_);
  release_in_order(placeholders_);
}

}  // namespace highwater::dist
