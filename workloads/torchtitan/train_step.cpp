#include "workloads/torchtitan/train_step.hpp"

#include <utility>

#include "workloads/plan/training_plan.hpp"
#include "workloads/torchtitan/chunked_loss.hpp"

namespace highwater::torchtitan {

using eager::Tensor;

void TrainStep::run(int step) {
  eager::end_of_frame(batch_.labels, loss_);
  batch_ = {};
  runtime_.mark_phase("data");
  valid_tokens_ = count_tokens();
  for (int micro = 0; micro < plan_.grad_accum; ++micro) {
    load(std::int64_t{step} * plan_.grad_accum + micro);
    forward_backward();
  }
}

// dist_sum_tensor: a functional all-reduce makes a tensor of its own.
Tensor TrainStep::count_tokens() const {
  Tensor count = eager::empty(runtime_, {}, DType::int64);
  return data_group(plan_.parallel).ranks > 1 ? eager::empty(runtime_, {}, DType::int64) : count;
}

Tensor TrainStep::integers(std::int64_t length) const {
  Tensor result = eager::empty(runtime_, {plan_.batch, length}, DType::int64);
  runtime_.categorize(result, Category::input);
  return result;
}

void TrainStep::load(std::int64_t index) {
  runtime_.mark_phase("data");
  const std::int64_t length = sequence_length(plan_, index);
  batch_.input_ids = integers(length);
  batch_.positions = integers(length);
  batch_.labels = integers(length);
}

// _context_parallel_shard: a gather rearranges each whole tensor, and a part of it is kept.
void TrainStep::take_own_part() {
  for (Tensor* whole : {&batch_.input_ids, &batch_.labels, &batch_.positions}) {
    const Tensor rearranged = eager::empty_like(*whole);
    const std::int64_t part = whole->size(1) / plan_.parallel.cp;
    *whole = eager::contiguous(eager::slice(rearranged, 1, 0, part));
    runtime_.categorize(*whole, Category::input);
  }
}

// The masks are in the dictionary of further arguments, which lives until the function returns.
void TrainStep::forward_backward() {
  BlockMask mask = document_mask(batch_.positions);
  if (plan_.parallel.cp > 1) {
    mask = shared_mask(std::move(mask), batch_.positions, plan_.parallel.cp);
    take_own_part();
  }
  runtime_.mark_phase("forward");
  models::Inputs inputs = batch_;
  inputs.labels.reset();
  Tensor hidden_states = strategy_.forward(std::move(inputs)).hidden_states;
  runtime_.mark_phase("loss");
  loss_ = chunked_loss(hidden_states, *model_.separate_head(),
                       {.labels = batch_.labels,
                        .positions = batch_.positions,
                        .valid_tokens = valid_tokens_,
                        .ranks = ranks_.size() > 1 ? &ranks_ : nullptr},
                       plan_.loss.chunks);
  hidden_states.reset();
  if (plan_.training) {
    runtime_.mark_phase("backward");
    strategy_.backward(loss_);
  }
}

}  // namespace highwater::torchtitan
