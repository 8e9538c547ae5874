#include "workloads/training/batch_samples.hpp"

#include <utility>

#include "workloads/losses/label_smoother.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

using eager::Tensor;
using models::Inputs;

// labels.ne(-100).sum(); causal losses shift labels, so the first one is no target of theirs.
Tensor targets_of(const Inputs& sample, bool shifts_labels) {
  const Tensor labels =
      shifts_labels ? eager::slice(sample.labels, -1, 1, eager::kEnd) : sample.labels;
  const Tensor is_target = eager::compare("ne", {labels});
  return eager::sum(is_target, {}, eager::KeepDim::no, DType::int64);
}

bool shifts_labels(const TrainingPlan& plan) {
  return !has_own_targets(plan);
}

// Until 4.57 all labels were counted.
bool counts_shifted(const TrainingPlan& plan, Release transformers) {
  return transformers >= Release{5, 0} && shifts_labels(plan);
}

// A list dies from its end.
void release(std::vector<Inputs>& samples) {
  while (!samples.empty()) {
    Inputs& last = samples.back();
    eager::end_of_frame(last.input_ids, last.labels, last.attention_mask);
    samples.pop_back();
  }
}

// accelerate 1.15, utils/operations.py _gpu_gather_one.
Tensor count_of_all_ranks(const TrainingPlan& plan, const Tensor& own) {
  Tensor all;
  {
    const Tensor copy = eager::clone(own);
    eager::Runtime& runtime = own.runtime();
    const eager::OpScope op(runtime, "gather", 0);
    all = eager::empty(runtime, {data_group(plan.parallel).ranks}, DType::int64);
  }
  return eager::sum(all, {}, eager::KeepDim::no, DType::int64);
}

// average_tokens_across_devices is the default since 4.57, whose gather of one rank is summed as
// well; since 5 the count is divided by the ranks with the same batch, also by one.
Tensor averaged_count(const TrainingPlan& plan, Tensor total) {
  const Release release = total.runtime().transformers;
  if (release < Release{4, 57}) {
    return total;
  }
  if (data_group(plan.parallel).ranks > 1) {
    total = count_of_all_ranks(plan, total);
  } else if (release < Release{5, 0}) {
    total = eager::sum(total, {}, eager::KeepDim::no, DType::int64);
  }
  return release < Release{5, 0} ? total : eager::div(total, 1.0);
}

}  // namespace

Tensor smoothed_loss_of(const TrainingPlan& plan, const models::Outputs& outputs,
                        const Tensor& labels, const Tensor& label_count) {
  return losses::smoothed_loss(
      outputs.logits, labels, label_count,
      shifts_labels(plan) ? losses::LabelShift::by_one : losses::LabelShift::none);
}

Tensor count_labels(const TrainingPlan& plan, const std::vector<Inputs>& samples) {
  Tensor total;
  for (const Inputs& sample : samples) {
    const Release release = sample.labels.runtime().transformers;
    const Tensor targets = targets_of(sample, counts_shifted(plan, release));
    total = total.defined() ? eager::add(total, targets) : eager::add(targets, 0.0);
  }
  return averaged_count(plan, std::move(total));
}

void BatchSamples::fetch(std::int64_t first) {
  std::vector<Inputs> samples(static_cast<std::size_t>(plan_.grad_accum));
  for (Inputs& sample : samples) {
    loader_.load(first++, {}, sample);
  }
  Tensor label_count = count_labels(plan_, samples);
  std::swap(samples_, samples);
  release(samples);
  label_count_ = std::move(label_count);
}

}  // namespace highwater
