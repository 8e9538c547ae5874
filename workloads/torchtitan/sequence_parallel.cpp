#include "workloads/torchtitan/sequence_parallel.hpp"

#include <functional>
#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/eager/output_cache.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::torchtitan {

using eager::Dims;
using eager::Node;
using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

namespace {

constexpr std::int64_t kSequenceDim = 1;

struct FunctionNames {
  const char* forward;
  const char* backward;
};

// An autograd.Function of one operand that saves nothing.
Tensor applied(const FunctionNames& names, const Tensor& operand,
               const std::function<Tensor()>& forward,
               std::function<Tensor(const Tensor&)> backward) {
  Runtime& runtime = operand.runtime();
  const auto node = eager::begin_node(runtime, names.backward, {operand});
  Tensor result;
  {
    const eager::NoGrad no_grad(runtime);
    const eager::OpScope op(runtime, names.forward, 0);
    result = forward();
  }
  eager::finish_node(node, result, [backward = std::move(backward)](Node&, TensorList& grads) {
    return TensorList{backward(grads[0])};
  });
  return result;
}

}  // namespace

// funcol.all_gather_single: ranks are gathered along dimension 0, then joined along the sequence,
// which takes no copy of a single sequence (_maybe_view_chunk_cat of torch/_utils.py in 2.15).
Tensor SequenceRanks::gathered(const Tensor& part) {
  const Tensor own = eager::contiguous(part);
  Dims sizes = own.sizes();
  sizes[0] *= size_;
  const Tensor whole = eager::empty(own.runtime(), sizes, own.dtype());
  group_.all_gather_functional(whole, own).wait();
  if (own.size(0) > 1) {
    return eager::cat(eager::chunk(whole, size_, 0), kSequenceDim);
  }
  sizes = own.sizes();
  sizes[kSequenceDim] *= size_;
  return eager::unsafe_view(whole, sizes);
}

// funcol.reduce_scatter_tensor. Selective checkpointing keeps the collective's result.
Tensor SequenceRanks::scattered(const Tensor& terms) {
  Runtime& runtime = terms.runtime();
  const Tensor own = eager::contiguous(terms);
  const Tensor whole = eager::cat(eager::chunk(own, size_, kSequenceDim), 0);
  return eager::kept_outputs(runtime, "reduce_scatter_tensor", [&] {
    Dims sizes = whole.sizes();
    sizes[0] /= size_;
    const Tensor output = eager::empty(runtime, sizes, whole.dtype());
    group_.reduce_scatter_async(output, whole).wait();
    return TensorList{output};
  })[0];
}

Tensor SequenceRanks::gather(const Tensor& part) {
  return applied(
      {"all_gather_tensor", "_AllGatherShardBackward"}, part, [&] { return gathered(part); },
      [this](const Tensor& grad) { return scattered(grad); });
}

Tensor SequenceRanks::sum_and_split(const Tensor& terms) {
  return applied(
      {"reduce_scatter_tensor", "_ReduceScatterShardBackward"}, terms,
      [&] { return eager::alias(scattered(terms)); },
      [this](const Tensor& grad) { return gathered(grad); });
}

Tensor SequenceRanks::sum(const Tensor& terms) {
  const Tensor result = eager::clone_contiguous(terms);
  group_.all_reduce(result).wait();
  return result;
}

namespace {

Tensor unary_of(const char* op, const Tensor& self) {
  return eager::pointwise(op, {self}, self.dtype());
}

// torch.where(labels != ignored, values, 0)
Tensor counted(const Tensor& labels, const Tensor& values) {
  const Tensor is_counted = eager::compare("ne", {labels});
  return unary_of("where", values);
}

/// This rank's words: which labels are others', and the places of its own.
struct OwnLabels {
  Tensor safe;
  Tensor out_of_range;
  Tensor places;

  explicit OwnLabels(const Tensor& labels) : safe(counted(labels, labels)) {
    {
      const Tensor below = eager::compare("lt", {safe});
      const Tensor above = eager::compare("ge", {safe});
      out_of_range = eager::compare("or", {below, above});
    }
    places = unary_of("sub", safe);
  }
};

Tensor log_probabilities(SequenceRanks& ranks, const Tensor& logits) {
  Tensor local_max = eager::reduce_plain("amax", logits, {-1}, eager::KeepDim::yes, logits.dtype());
  local_max = ranks.sum(local_max);
  Tensor shifted = eager::sub(logits, local_max);
  Tensor sum_exp = [&] {
    const Tensor exponentials = unary_of("exp", shifted);
    return eager::sum(exponentials, {-1}, eager::KeepDim::yes);
  }();
  sum_exp = ranks.sum(sum_exp);
  Tensor result;
  {
    const Tensor log_sum = unary_of("log", sum_exp);
    result = eager::sub(shifted, log_sum);
  }
  // The frame holds what it named until the function returns; the rest of it is small.
  eager::end_of_frame(local_max, shifted, sum_exp);
  return result;
}

Tensor nll_of(SequenceRanks& ranks, const Tensor& log_probs, const Tensor& labels) {
  const OwnLabels own(labels);
  Tensor local = eager::empty(labels.runtime(), {labels.numel(), 1}, log_probs.dtype());
  local = ranks.sum(local);
  Tensor negative = unary_of("neg", local);
  const Tensor result = counted(labels, eager::squeeze(negative, -1));
  return eager::sum(result, {}, eager::KeepDim::no);
}

TensorList cross_entropy_backward(Node& node, TensorList& grads) {
  const Tensor log_probs = node.unpack(0);
  const Tensor labels = node.unpack(1);
  const eager::OpScope op(*node.runtime, "_LossParallelCrossEntropyBackward", 0);
  const OwnLabels own(labels);
  Tensor grad_input = eager::empty_like(log_probs);
  const Tensor row_idx = eager::arange(*node.runtime, labels.numel());
  Tensor grad_output = counted(labels, eager::expand(grads[0], labels.sizes()));
  Tensor sum;
  {
    const Tensor probabilities = unary_of("exp", log_probs);
    sum = eager::add(grad_input, probabilities);
  }
  Tensor result = eager::mul(sum, eager::unsqueeze(grad_output, -1));
  sum.reset();
  eager::end_of_frame(grad_input, grad_output);
  return {result};
}

}  // namespace

Tensor parallel_cross_entropy(SequenceRanks& ranks, const Tensor& logits, const Tensor& labels) {
  Runtime& runtime = logits.runtime();
  const auto node = eager::begin_node(runtime, "_LossParallelCrossEntropyBackward", {logits});
  Tensor log_probs;
  Tensor loss;
  {
    const eager::NoGrad no_grad(runtime);
    const eager::OpScope op(runtime, "_LossParallelCrossEntropy", 0);
    log_probs = log_probabilities(ranks, logits);
    loss = nll_of(ranks, log_probs, labels);
  }
  eager::finish_node(node, loss, cross_entropy_backward);
  if (node) {
    node->save(log_probs);
    node->save(labels);
  }
  return loss;
}

Tensor parallel_embedding(const Tensor& weight, const Tensor& tokens) {
  Tensor mask = [&] {
    const Tensor below = eager::compare("lt", {tokens});
    const Tensor above = eager::compare("ge", {tokens});
    return eager::compare("and", {below, above});
  }();
  Tensor local_input = [&] {
    const Tensor shifted = unary_of("sub", tokens);
    return unary_of("clamp", shifted);
  }();
  Tensor out = eager::embedding(weight, local_input);
  Tensor result;
  {
    const Tensor factor = eager::to_dtype(eager::unsqueeze(mask, -1), out.dtype());
    result = eager::mul(out, factor);
  }
  eager::end_of_frame(mask, local_input, out);
  return result;
}

}  // namespace highwater::torchtitan
