#include "workloads/pipelining/pipeline_run.hpp"

#include <utility>

#include "workloads/models/causal_loss.hpp"
#include "workloads/plan/pipeline/torch_schedule.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::pipelining {
namespace {

using dist::PipelineAction;
using dist::PipelineStep;
using eager::Tensor;

}  // namespace

PipelineRun::PipelineRun(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy)
    : runtime_(runtime),
      plan_(plan),
      batched_(runtime, plan.parallel.pp, plan.parallel.backend),
      previous_(runtime, 2, plan.parallel.backend),
      next_(runtime, 2, plan.parallel.backend),
      job_(dist::pipeline_job(plan, rank_place(plan.parallel).pp)),
      actions_(torch_schedule(plan.parallel.schedule, job_)) {
  for (int chunk = 0; chunk < job_.chunks; ++chunk) {
    const StagePlace place{.index = chunk * job_.stages + job_.stage,
                           .count = job_.stages * job_.chunks,
                           .chunk = chunk};
    stages_.push_back(std::make_unique<Stage>(runtime, plan, strategy,
                                              Neighbours{batched_, previous_, next_}, place));
  }
}

void PipelineRun::run(int /*step*/) {
  // sdpa_kernel() surrounds the schedule's step.
  const eager::Scoped<std::optional<SdpaBackend>> backend(runtime_.sdpa_backend,
                                                          forced_backend(plan_.attention));
  load_batch();
  runtime_.mark_phase("forward");
  eager::release_list(losses_);
  schedule_step();
  if (!losses_.empty()) {
    Tensor mean = eager::mean(eager::stack(losses_, 0), 0, eager::KeepDim::no);
    loss_ = std::move(mean);  // the stacked losses are gone before the old one
  }
}

void PipelineRun::load_batch() {
  runtime_.mark_phase("data");
  tokens_ = whole_batch();
  labels_ = whole_batch();
}

Tensor PipelineRun::whole_batch() {
  Tensor tensor = eager::empty(
      runtime_, {plan_.batch * plan_.grad_accum, sequence_length(plan_, 0)}, DType::int64);
  runtime_.categorize(tensor, Category::input);
  if (plan_.data == DataSource::to) {
    runtime_.synchronize();  // the host waits for a copy from pageable memory
  }
  return tensor;
}

// tensor_split
Tensor PipelineRun::part_of(const Tensor& whole, int micro_batch) const {
  return eager::slice(whole, 0, micro_batch * plan_.batch, (micro_batch + 1) * plan_.batch);
}

void PipelineRun::schedule_step() {
  for (const auto& stage : stages_) {
    stage->clear_runtime_states();
  }
  if (!is_initialized_) {
    for (const auto& stage : stages_) {
      stage->prepare();
    }
    is_initialized_ = true;
  }
  for (const PipelineAction& action : actions_) {
    act(action);
  }
  finish_sends();
  losses_ = std::exchange(internal_losses_, {});
  if (stages_.back()->is_last()) {
    stages_.back()->merge_outputs();
  }
}

void PipelineRun::act(const PipelineAction& action) {
  Stage& stage = *stages_[static_cast<std::size_t>(action.chunk)];
  switch (action.step) {
    case PipelineStep::receive_input:
      stage.receive_input(action.micro_batch);
      break;
    case PipelineStep::forward:
      forward(stage, action.micro_batch);
      break;
    case PipelineStep::release_output:
      sends_.push_back(stage.send_output(action.micro_batch));
      if (plan_.parallel.schedule != PipelineSchedule::gpipe) {
        finish_sends();
      }
      break;
    case PipelineStep::receive_gradient:
      finish_sends();
      stage.receive_gradient(action.micro_batch);
      break;
    case PipelineStep::backward:
      stage.backward_one_chunk(action.micro_batch,
                               stage.is_last()
                                   ? internal_losses_[static_cast<std::size_t>(action.micro_batch)]
                                   : Tensor{});
      break;
  }
}

void PipelineRun::forward(Stage& stage, int micro_batch) {
  const Tensor output = stage.forward_one_chunk(
      micro_batch, stage.is_first() ? part_of(tokens_, micro_batch) : Tensor{});
  if (stage.is_last()) {
    internal_losses_.push_back(compute_loss(output, micro_batch));
  }
}

Tensor PipelineRun::compute_loss(const Tensor& logits, int micro_batch) {
  runtime_.mark_phase("loss");
  Tensor labels = part_of(labels_, micro_batch);
  return plan_.loss.kind == LossKind::hf
             ? models::causal_lm_loss(logits, std::move(labels), plan_)
             : models::outside_loss(logits, std::move(labels), plan_.loss.kind);
}

// Work.wait() of what GPipe's forwards have sent; the other schedules wait at once.
void PipelineRun::finish_sends() {
  for (const dist::Work& work : std::exchange(sends_, {})) {
    work.wait();
  }
}

}  // namespace highwater::pipelining
