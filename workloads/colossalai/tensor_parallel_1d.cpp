#include "workloads/colossalai/tensor_parallel_1d.hpp"

#include <algorithm>

#include "traces/error.hpp"
#include "workloads/colossalai/python_function.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

// DistSpecManager._shard_as: narrow, clone, detach.
Tensor own_columns(const Tensor& whole, const TensorParallelRank& place) {
  const std::int64_t width = whole.size(-1) / place.group->size();
  return eager::clone(eager::slice(whole, -1, place.rank * width, (place.rank + 1) * width));
}

// DistSpecManager._gather.
Tensor all_columns(const Tensor& part, const TensorParallelRank& place) {
  std::vector<Tensor> buffer;
  for (int i = 0; i < place.group->size(); ++i) {
    buffer.push_back(eager::empty_like(part));
    part.runtime().categorize(buffer.back(), Category::communication);
  }
  place.group->all_gather(buffer, part).wait();
  Tensor whole = eager::cat(buffer, -1);
  eager::release_list(buffer);
  return whole;
}

bool is_split(const nn::Module& module, const std::string& parameter) {
  const nn::LayerKind kind = module.layer_kind();
  return parameter == "weight" &&
         (kind == nn::LayerKind::linear || kind == nn::LayerKind::embedding);
}

void split(Tensor& weight, const TensorParallelRank& place) {
  const eager::NoGrad no_grad(weight.runtime());
  if (weight.size(-1) % place.group->size() != 0) {
    throw InputError("plan", "tp", "a weight's last dimension is not a multiple of tp",
                     "choose a tp that divides every layer's input width");
  }
  const Tensor part = own_columns(eager::alias(weight), place);
  weight->sizes = part.sizes();
  weight->strides = part.strides();
  weight->storage = part->storage;
  weight.runtime().categorize(weight, Category::parameter);
}

void split_weights(nn::Module& module, const TensorParallelRank& place, std::vector<Tensor>& done) {
  for (nn::NamedTensor& own : module.own_parameters()) {
    const auto is_same = [&](const Tensor& other) { return other.get() == own.tensor.get(); };
    if (is_split(module, own.name) && std::ranges::none_of(done, is_same)) {
      split(own.tensor, place);
      done.push_back(own.tensor);
    }
  }
  for (nn::Module* child : module.children()) {
    split_weights(*child, place, done);
  }
}

// Tied linear layers come after the embedding whose weight they share.
void construct_tied_heads(nn::Module& root, std::vector<Tensor>& seen) {
  for (const nn::NamedTensor& own : root.own_parameters()) {
    const auto is_same = [&](const Tensor& other) { return other.get() == own.tensor.get(); };
    if (std::ranges::any_of(seen, is_same)) {
      const eager::OpScope op(root.runtime(), "_to_copy", 0);
      eager::empty(root.runtime(), own.tensor.sizes(), own.tensor.dtype());
    } else if (own.tensor.defined()) {
      seen.push_back(own.tensor);
    }
  }
  for (nn::Module* child : root.children()) {
    construct_tied_heads(*child, seen);
  }
}

}  // namespace

void construct_tied_heads(nn::Module& root) {
  std::vector<Tensor> seen;
  construct_tied_heads(root, seen);
}

std::vector<Tensor> split_weights(nn::Module& root, const TensorParallelRank& place) {
  std::vector<Tensor> done;
  split_weights(root, place, done);
  return done;
}

Tensor take_columns(const Tensor& whole, const TensorParallelRank& place) {
  return python_function(
      "TransformDistSpecBackward", whole,
      [&](const Tensor& tensor) { return own_columns(tensor, place); },
      [place](const Tensor& grad) { return all_columns(grad, place); });
}

Tensor gather_columns(const Tensor& part, const TensorParallelRank& place) {
  return python_function(
      "TransformDistSpecBackward", part,
      [&](const Tensor& tensor) { return all_columns(tensor, place); },
      [place](const Tensor& grad) { return own_columns(grad, place); });
}

Tensor sum_over_ranks(const Tensor& partial, const TensorParallelRank& place) {
  return python_function(
      "_ReduceInputBackward", partial,
      [&](const Tensor& tensor) {
        place.group->all_reduce(tensor).wait();
        return tensor;
      },
      [](const Tensor& grad) { return grad; });
}

}  // namespace highwater::dist
