#include "workloads/losses/label_smoother.hpp"

#include <utility>

#include "workloads/eager/ops.hpp"

namespace highwater::losses {
namespace {

using eager::KeepDim;
using eager::Tensor;

void shift_by_one(Tensor& logits, Tensor& labels) {
  logits = eager::contiguous(eager::slice(logits, -2, 0, -1));
  labels = eager::contiguous(eager::slice(labels, -1, 1, eager::kEnd));
}

Tensor negative_log_probabilities(const Tensor& logits) {
  const Tensor log_probabilities = eager::log_softmax(logits, -1, std::nullopt);
  return eager::neg(log_probabilities);
}

Tensor mean_of(const Tensor& losses, const Tensor& count) {
  const Tensor total = eager::sum(losses, {}, KeepDim::no);
  return eager::div(total, count);
}

}  // namespace

Tensor smoothed_loss(Tensor logits, Tensor labels, const Tensor& label_count, LabelShift shift) {
  if (shift == LabelShift::by_one) {
    shift_by_one(logits, labels);
  }
  Tensor log_probs = negative_log_probabilities(logits);
  labels = eager::unsqueeze(labels, -1);
  Tensor padding_mask = eager::compare("eq", {labels});
  labels = eager::pointwise("clamp", {labels}, DType::int64);
  Tensor nll_loss = eager::gather(log_probs, -1, labels);
  Tensor smoothed = eager::sum(log_probs, {-1}, KeepDim::yes, DType::fp32);
  nll_loss = eager::masked_fill_(nll_loss, padding_mask);
  smoothed = eager::masked_fill_(smoothed, padding_mask);
  nll_loss = mean_of(nll_loss, label_count);
  {
    const Tensor classes = eager::mul(label_count, 1.0);
    smoothed = mean_of(smoothed, classes);
  }
  const Tensor own = eager::mul(nll_loss, 1.0);
  const Tensor spread = eager::mul(smoothed, 1.0);
  Tensor loss = eager::add(own, spread);
  eager::end_of_frame(labels, logits, log_probs, padding_mask, nll_loss, smoothed);
  return loss;
}

}  // namespace highwater::losses
