#include "workloads/megatron/transformer_engine/cross_entropy.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::megatron {

using eager::Tensor;
using eager::TensorList;

namespace {

constexpr Release kFp32Gradient{2, 18};
constexpr Release kSavedCopy{2, 19};

Tensor floats(eager::Runtime& runtime, std::int64_t rows, std::int64_t each) {
  return eager::empty(runtime, {rows, each}, DType::fp32);
}

/// What the gradient will be made in.
Tensor gradient_block(const Tensor& logits, Release release) {
  if (release < kFp32Gradient) {
    return eager::alias(logits);
  }
  const DType dtype = release < kSavedCopy ? DType::fp32 : logits.dtype();
  return eager::empty(logits.runtime(), logits.sizes(), dtype);
}

/// Each row's largest logit, sum and target logit, of all ranks.
void exchange_rows(dist::ProcessGroup& ranks, const Tensor& own) {
  const Tensor all = floats(ranks.runtime(), own.size(0) * ranks.size(), own.size(1));
  ranks.all_gather_into_tensor(all, own);
}

struct Forward {
  Tensor gradient;
  Tensor loss;
  Tensor statistics;  ///< of each row, saved; undefined where the gradient is complete
};

// cross_entropy_forward until 2.18.
Forward forward_with_gradient(dist::ProcessGroup& ranks, const Tensor& logits, const Tensor& labels,
                              Release release) {
  Forward result;
  result.loss = eager::empty(logits.runtime(), labels.sizes(), DType::fp32);
  const Tensor rows = floats(logits.runtime(), labels.numel(), 3);
  result.gradient = gradient_block(logits, release);
  if (ranks.size() > 1) {
    exchange_rows(ranks, rows);
  }
  return result;
}

// The same since 2.19.
Forward forward_with_copy(dist::ProcessGroup& ranks, const Tensor& logits, const Tensor& labels,
                          Release release) {
  Forward result;
  result.gradient = gradient_block(logits, release);
  result.loss = eager::empty(logits.runtime(), labels.sizes(), DType::fp32);
  result.statistics = floats(logits.runtime(), labels.numel(), 2);
  if (ranks.size() > 1) {
    exchange_rows(ranks, floats(logits.runtime(), labels.numel(), 4));
  }
  return result;
}

}  // namespace

Tensor engine_cross_entropy(dist::ProcessGroup& ranks, const Tensor& logits, const Tensor& labels,
                            Release release) {
  eager::Runtime& runtime = logits.runtime();
  const auto node = eager::begin_node(runtime, "CrossEntropyFunctionBackward", {logits});
  Forward result;
  {
    const eager::NoGrad no_grad(runtime);
    const eager::OpScope op(runtime, "cross_entropy_forward");
    result = release < kSavedCopy ? forward_with_gradient(ranks, logits, labels, release)
                                  : forward_with_copy(ranks, logits, labels, release);
  }
  if (node) {
    node->save(result.gradient);
    node->save(result.statistics);
    node->save(result.statistics.defined() ? labels : Tensor{});
  }
  eager::finish_node(node, result.loss, [](eager::Node& own, TensorList& grads) {
    Tensor gradient = own.unpack(0);
    const Tensor losses = eager::contiguous(grads[0]);
    return TensorList{std::move(gradient)};
  });
  return result.loss;
}

}  // namespace highwater::megatron
