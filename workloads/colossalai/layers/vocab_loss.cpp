#include "workloads/colossalai/layers/vocab_loss.hpp"

#include "workloads/eager/runtime.hpp"

namespace highwater::colossalai {

using eager::Node;

namespace {

Tensor unary(const char* op, const Tensor& self) {
  return eager::pointwise(op, {self}, self.dtype());
}

// torch.max(logits, dim=-1)[0]: the places are made and dropped.
Tensor row_maxima(const Tensor& logits) {
  const eager::OpScope op(logits.runtime(), "max");
  Tensor values = eager::empty(logits.runtime(), {logits.size(0)}, logits.dtype());
  const Tensor places = eager::empty(logits.runtime(), {logits.size(0)}, DType::int64);
  return values;
}

// logits[torch.arange(rows), targets]: numbers on the host are copied to the device first.
Tensor picked(const Tensor& logits, RowNumbers numbers) {
  eager::Runtime& runtime = logits.runtime();
  const std::int64_t rows = logits.size(0);
  Tensor copy =
      numbers == RowNumbers::on_host ? eager::empty(runtime, {rows}, DType::int64) : Tensor{};
  const eager::OpScope op(runtime, "index");
  return eager::empty(runtime, {rows}, logits.dtype());
}

Tensor losses(FunctionContext& context, const Tensor& all_logits, const Tensor& targets,
              ProcessGroup& words, RowNumbers numbers) {
  Tensor maxima = row_maxima(all_logits);
  words.all_reduce(maxima).wait();
  Tensor logits = eager::sub(all_logits, eager::unsqueeze(maxima, -1));
  OwnRows own(targets);
  Tensor row_numbers =
      numbers == RowNumbers::on_device ? eager::arange(logits.runtime(), logits.size(0)) : Tensor{};
  Tensor predicted = picked(logits, numbers);
  if (numbers == RowNumbers::on_device) {
    predicted = eager::clone(predicted);
  }
  words.all_reduce(predicted).wait();
  Tensor exponentials = unary("exp", logits);
  Tensor sums = eager::sum(exponentials, {-1}, eager::KeepDim::no);
  words.all_reduce(sums).wait();
  Tensor loss;
  {
    const Tensor log = unary("log", sums);
    loss = eager::sub(log, predicted);
  }
  context.save_for_backward(exponentials);
  context.save_for_backward(own.mask);
  context.save_for_backward(own.places);
  eager::end_of_frame(logits, maxima, own.mask, own.places, row_numbers, predicted, exponentials,
                      sums);
  return loss;
}

// grad[rows, targets] -= 1 - mask, then times the gradient of each row's loss.
TensorList losses_backward(Node& node, TensorList& /*grads*/) {
  const Tensor probabilities = node.unpack(0);
  const Tensor mask = node.unpack(1);
  eager::Runtime& runtime = *node.runtime;
  const Tensor row_numbers = eager::arange(runtime, probabilities.size(0));
  {
    const Tensor at_targets = picked(probabilities, RowNumbers::on_device);
    Tensor wide = eager::to_dtype(mask, DType::fp32);
    const Tensor others = unary("rsub", wide);
    wide.reset();
  }
  return {probabilities};
}

}  // namespace

OwnRows::OwnRows(const Tensor& ids) {
  Tensor below = eager::compare("lt", {ids});
  Tensor above = eager::compare("ge", {ids});
  mask = eager::compare("or", {below, above});
  eager::end_of_frame(below, above);
  const Tensor copy = eager::clone(ids);
  places = unary("sub", copy);
}

Tensor vocab_parallel_cross_entropy(const Tensor& logits, const Tensor& targets,
                                    ProcessGroup& words, RowNumbers numbers) {
  return apply_function(
      "_VocabParallelCrossEntropyBackward", {logits},
      [&](FunctionContext& context) { return losses(context, logits, targets, words, numbers); },
      losses_backward);
}

}  // namespace highwater::colossalai
