#include "workloads/torchtune/recipe_step.hpp"

#include <utility>
#include <vector>

#include "workloads/models/causal_loss.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::torchtune {

using eager::Tensor;

namespace {

// A number divided by a tensor is a reciprocal and a product.
Tensor number_over(const Tensor& divisor) {
  const Tensor reciprocal = eager::empty(divisor.runtime(), {}, DType::fp32);
  return eager::empty(divisor.runtime(), {}, DType::fp32);
}

Tensor tokens_of(const Tensor& labels) {
  const Tensor counted = eager::compare("ne", {labels});
  return eager::sum(counted, {}, eager::KeepDim::no, DType::int64);
}

// sum += value, where sum was the number 0 before the step.
void add_to(Tensor& sum, const Tensor& value) {
  sum = sum.defined() ? eager::add_(sum, value) : eager::add(value, 0.0);
}

}  // namespace

RecipeStep::RecipeStep(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy)
    : runtime_(runtime),
      plan_(plan),
      strategy_(strategy),
      ranks_(runtime, plan.parallel.dp, plan.parallel.backend),
      ignored_labels_(integers(1)) {}

void RecipeStep::run(int step) {
  if (step > 0) {
    log();
  }
  for (int micro = 0; micro < plan_.grad_accum; ++micro) {
    micro_batch(std::int64_t{step} * plan_.grad_accum + micro);
  }
  if (plan_.training && !plan_.optimizer.in_backward) {
    scale_gradients();
  }
}

// What the step before ends with: its loss and its speed for the log, in a dictionary that holds
// those of the step before until it is replaced.
void RecipeStep::log() {
  runtime_.mark_phase("data");
  const Tensor loss = number_over(num_tokens_);
  const Tensor speed = eager::empty(runtime_, {}, DType::fp32);
  eager::end_of_frame(loss_to_log_, tokens_per_second_);
  loss_to_log_ = loss;
  tokens_per_second_ = speed;
  eager::end_of_frame(running_loss_, num_tokens_);
}

void RecipeStep::micro_batch(std::int64_t index) {
  load(sequence_length(plan_, index));
  count_tokens();
  runtime_.mark_phase("forward");
  current_loss_ = loss_of_tokens();
  add_to(running_loss_, current_loss_);
  if (plan_.training) {
    runtime_.mark_phase("backward");
    strategy_.backward(current_loss_);
  }
}

Tensor RecipeStep::integers(std::int64_t length) const {
  Tensor result = eager::empty(runtime_, {plan_.batch, length}, DType::int64);
  runtime_.categorize(result, Category::input);
  if (plan_.data == DataSource::to) {
    runtime_.synchronize();  // the host waits for a copy from pageable memory
  }
  return result;
}

// "for idx, batch in enumerate(...)" binds the name to what is on the host.
void RecipeStep::load(std::int64_t length) {
  runtime_.mark_phase("data");
  batch_ = {};
  batch_.input_ids = integers(length);
  batch_.labels = integers(length);
}

void RecipeStep::count_tokens() {
  current_num_tokens_ = tokens_of(batch_.labels);
  add_to(num_tokens_, current_num_tokens_);
}

// On one GPU a function of its own (_loss_step), whose labels and logits go before its result is
// multiplied by the tokens that it is of.
Tensor RecipeStep::loss() {
  const eager::Scoped<std::optional<SdpaBackend>> backend(runtime_.sdpa_backend,
                                                          forced_backend(plan_.attention));
  labels_ = std::exchange(batch_.labels, {});
  models::Outputs outputs = strategy_.forward(batch_);
  std::vector<Tensor> logits = is_distributed() ? outputs.logit_chunks : std::vector<Tensor>{};
  runtime_.mark_phase("loss");
  labels_ = models::labels_of_next(labels_, ignored_labels_);
  Tensor loss = plan_.loss.kind == LossKind::chunked
                    ? models::chunked_loss(outputs.logit_chunks, labels_)
                    : models::outside_loss(std::move(outputs.logits), labels_, LossKind::flat);
  if (is_distributed()) {
    loss = eager::mul(loss, current_num_tokens_);
  } else {
    labels_.reset();
  }
  eager::release_list(logits);
  return loss;
}

Tensor RecipeStep::loss_of_tokens() {
  const Tensor result = loss();
  return is_distributed() ? result : eager::mul(result, current_num_tokens_);
}

// scale_grads: in place, by a tensor.
void RecipeStep::scale_gradients() {
  if (is_distributed()) {
    ranks_.all_reduce(num_tokens_).wait();
    ranks_.all_reduce(running_loss_).wait();
  }
  const Tensor scaler = number_over(num_tokens_);
}

}  // namespace highwater::torchtune
