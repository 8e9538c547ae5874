#include "workloads/megatron/layers/layers.hpp"

#include <utility>

#include "workloads/eager/node.hpp"

namespace highwater::megatron {
namespace {

/// How a linear layer's backward treats the gradient of its input.
struct LinearMode {
  bool all_reduces = false;      ///< allreduce_dgrad
  bool splits_sequence = false;  ///< sequence_parallel
};

// LinearWithGradAccumulationAndAsyncCommunication.backward. Even if the weight's gradient is
// accumulated in place, a gradient of the weight's shape is returned, which DDP's hook discards.
struct LinearBackward {
  TensorParallel* tp;
  LinearMode mode;
  bool has_bias;

  TensorList operator()(eager::Node& node, TensorList& grads) const {
    const Tensor input = node.unpack(0);
    const Tensor weight = node.unpack(1);
    Tensor grad_output = grads[0];
    dist::Work work;
    Tensor total_input = mode.splits_sequence ? tp->gather_into_buffer(input, work) : input;
    const Tensor grad_input = eager::matmul(grad_output, weight);
    work.wait();
    grad_output = flat(grad_output);
    total_input = flat(total_input);
    Tensor result = grad_input;
    work = send(grad_input, input, result);
    Tensor grad_weight = weight_gradient(weight, grad_output, total_input);
    Tensor grad_bias = has_bias ? eager::sum(grad_output, {0}, eager::KeepDim::no) : Tensor{};
    work.wait();
    return {std::move(result), std::move(grad_weight), std::move(grad_bias)};
  }

 private:
  // prepare_input_tensors_for_wgrad_compute.
  static Tensor flat(const Tensor& tensor) {
    return eager::view(eager::contiguous(tensor), {-1, tensor.size(-1)});
  }

  dist::Work send(const Tensor& grad_input, const Tensor& input, Tensor& result) const {
    if (mode.all_reduces) {
      return tp->group().all_reduce(grad_input);
    }
    if (!mode.splits_sequence) {
      return {};
    }
    result = eager::empty(input.runtime(), input.sizes(), input.dtype());
    return tp->group().reduce_scatter_async(result, grad_input);
  }

  [[nodiscard]] Tensor weight_gradient(const Tensor& weight, const Tensor& grad_output,
                                       const Tensor& total_input) const {
    return tp->fuses_weight_gradients() ? tp->stand_in_gradient(weight)
                                        : eager::matmul(eager::t(grad_output), total_input);
  }
};

Tensor split_linear(TensorParallel& tp, const Tensor& input, const Tensor& weight,
                    const Tensor& bias, LinearMode mode) {
  eager::Runtime& runtime = input.runtime();
  const auto node = eager::begin_node(
      runtime, "LinearWithGradAccumulationAndAsyncCommunicationBackward", {input, weight, bias});
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime);
    Tensor total = input;
    if (mode.splits_sequence) {
      dist::Work work;
      total = tp.gather_into_buffer(input, work);
      work.wait();
    }
    output = eager::matmul(total, eager::t(weight));
    if (bias.defined()) {
      output = eager::add(output, bias);
    }
  }
  if (node) {
    node->save(input);
    node->save(weight);
  }
  eager::finish_node(node, output, LinearBackward{&tp, mode, bias.defined()});
  return output;
}

// tensor[mask] = 0 along the first dimensions of a tensor that has a gradient: CopySlices around
// IndexPutBackward0, both of which copy the gradient.
Tensor zero_masked(const Tensor& tensor, const Tensor& mask) {
  const auto node = eager::begin_node(tensor.runtime(), "CopySlices", {tensor});
  if (!node) {
    return tensor;
  }
  Tensor result = eager::alias(tensor);
  node->save(mask);
  eager::finish_node(node, result, [](eager::Node& own, TensorList& grads) {
    const Tensor where = own.unpack(0);
    Tensor whole = eager::empty(*own.runtime, grads[0].sizes(), grads[0].dtype());
    Tensor slice = eager::clone(whole);
    const Tensor filled = eager::clone(slice);
    slice.reset();
    return TensorList{std::move(whole)};
  });
  return result;
}

// The mask of ids that other ranks have, as the embedding and the loss compute it.
Tensor outside_mask(const Tensor& ids) {
  Tensor below = eager::compare("lt", {ids});
  Tensor above = eager::compare("ge", {ids});
  Tensor mask = eager::compare("bitwise_or", {below, above});
  eager::end_of_frame(below, above);
  return mask;
}

// ids.clone() - start, then zero where masked.
Tensor local_ids(const Tensor& ids) {
  const Tensor copy = eager::clone(ids);
  return eager::pointwise("sub", {copy}, ids.dtype());
}

}  // namespace

ColumnParallelLinear::ColumnParallelLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                                           std::int64_t in, std::int64_t out, SplitBias bias)
    : SplitLinear(parent, std::move(name)), tp_(tp), bias_kind_(bias) {
  const nn::InModule scope(*this);
  weight_ = make_parameter("weight", {out / tp.size(), in});
  if (bias != SplitBias::none) {
    bias_ = make_parameter("bias", {out / tp.size()});
  }
}

ColumnParallelLinear::ColumnParallelLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                                           SharedWeight shared)
    : SplitLinear(parent, std::move(name)), tp_(tp), weight_(std::move(shared.weight)) {}

WithBias ColumnParallelLinear::operator()(Tensor input) const {
  const nn::InModule scope(*this);
  const LinearMode mode{.all_reduces = tp_.size() > 1 && !tp_.splits_sequence(),
                        .splits_sequence = tp_.splits_sequence()};
  const bool skips = bias_kind_ == SplitBias::skipped;
  Tensor output = split_linear(tp_, input, weight_, skips ? Tensor{} : bias_, mode);
  return {std::move(output), skips ? bias_ : Tensor{}};
}

RowParallelLinear::RowParallelLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                                     std::int64_t in, std::int64_t out, nn::Bias bias)
    : SplitLinear(parent, std::move(name)), tp_(tp) {
  const nn::InModule scope(*this);
  weight_ = make_parameter("weight", {out, in / tp.size()});
  if (bias == nn::Bias::present) {
    bias_ = make_parameter("bias", {out});
  }
}

WithBias RowParallelLinear::operator()(Tensor input) const {
  const nn::InModule scope(*this);
  const Tensor partial = split_linear(tp_, input, weight_, {}, {});
  Tensor output = tp_.splits_sequence() ? reduce_scatter_to_sequence(tp_, partial)
                                        : reduce_from_region(tp_, partial);
  return {std::move(output), bias_};
}

Tensor local_linear(TensorParallel& tp, const Tensor& input, const Tensor& weight) {
  return split_linear(tp, input, weight, {}, {});
}

VocabParallelEmbedding::VocabParallelEmbedding(nn::Module* parent, std::string name,
                                               TensorParallel& tp, std::int64_t rows,
                                               std::int64_t width, EmbeddingSum sum)
    : Module(parent, std::move(name)), tp_(tp), sum_(sum) {
  const nn::InModule scope(*this);
  weight_ = make_parameter("weight", {rows / tp.size(), width});
}

Tensor VocabParallelEmbedding::masked(const Tensor& ids, const Tensor& mask) const {
  if (!mask.defined()) {
    return eager::embedding(weight_, ids);
  }
  const Tensor local = local_ids(ids);
  return zero_masked(eager::embedding(weight_, local), mask);
}

Tensor VocabParallelEmbedding::operator()(const Tensor& ids) const {
  const nn::InModule scope(*this);
  const Tensor mask = tp_.size() > 1 ? outside_mask(ids) : Tensor{};
  Tensor output = masked(ids, mask);
  if (sum_ == EmbeddingSum::whole) {
    return reduce_from_region(tp_, output);
  }
  output = eager::contiguous(eager::transpose(output, 0, 1));
  return reduce_scatter_to_sequence(tp_, output);
}

// _VocabParallelCrossEntropy.forward and backward: everything of the logits' size happens in one
// fp32 copy, which becomes the softmax and then the gradient.
Tensor vocab_parallel_cross_entropy(TensorParallel& tp, const Tensor& logits,
                                    const Tensor& labels) {
  eager::Runtime& runtime = logits.runtime();
  const auto node = eager::begin_node(runtime, "_VocabParallelCrossEntropyBackward", {logits});
  const Dims tokens = labels.sizes();
  const Dims rows{labels.numel()};
  Tensor softmax;
  Tensor mask;
  Tensor target;
  Tensor loss;
  {
    const eager::NoGrad no_grad(runtime);
    softmax = eager::to_dtype(logits, DType::fp32);
    Tensor logits_max;
    {
      const eager::OpScope op(runtime, "max");
      logits_max = eager::empty(runtime, tokens, DType::fp32);
      const Tensor places = eager::empty(runtime, tokens, DType::int64);
    }
    tp.group().all_reduce(logits_max).wait();
    mask = outside_mask(labels);
    target = eager::view(local_ids(labels), rows);
    Tensor places = eager::arange(runtime, labels.numel());
    Tensor predicted;
    {
      const Tensor flat = eager::view(softmax, {labels.numel(), softmax.size(-1)});
      const Tensor found = eager::index_pair(flat, places, target);
      predicted = eager::clone(found);
    }
    Tensor sum_exp = eager::sum(softmax, {-1}, eager::KeepDim::no);
    places.reset();
    tp.group().all_reduce(predicted).wait();
    tp.group().all_reduce(sum_exp).wait();
    {
      const Tensor log = eager::pointwise("log", {sum_exp}, DType::fp32);
      loss = eager::pointwise("sub", {log}, DType::fp32);
    }
    eager::end_of_frame(logits_max, predicted, sum_exp);
  }
  if (node) {
    node->save(softmax);
    node->save(mask);
    node->save(target);
  }
  eager::finish_node(node, loss, [](eager::Node& own, TensorList&) {
    Tensor gradient = own.unpack(0);
    const Tensor where = own.unpack(1);
    const Tensor chosen = own.unpack(2);
    Tensor places = eager::arange(*own.runtime, chosen.numel());
    Tensor update;
    {
      const Tensor as_float = eager::to_dtype(eager::view(where, {where.numel()}), DType::fp32);
      update = eager::rsub(as_float, 1.0);
    }
    eager::index_pair(eager::view(gradient, {chosen.numel(), gradient.size(-1)}), places, chosen);
    eager::end_of_frame(places, update);
    return TensorList{std::move(gradient)};
  });
  return loss;
}

}  // namespace highwater::megatron
