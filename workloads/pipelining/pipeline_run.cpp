#include "workloads/pipelining/pipeline_run.hpp"

#include <ranges>
#include <utility>

#include "workloads/models/causal_loss.hpp"
#include "workloads/pipelining/pipelined_model.hpp"
#include "workloads/plan/pipeline/torch_schedule.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::pipelining {
namespace {

using dist::PipelineAction;
using dist::PipelineStep;
using eager::Tensor;

}  // namespace

PipelineRun::PipelineRun(models::LanguageModel& model, const TrainingPlan& plan, Strategy& strategy)
    : runtime_(model.runtime()),
      plan_(plan),
      batched_(runtime_, plan.parallel.pp, plan.parallel.backend),
      previous_(runtime_, 2, plan.parallel.backend),
      next_(runtime_, 2, plan.parallel.backend),
      job_(dist::pipeline_job(plan, rank_place(plan.parallel).pp)),
      actions_(torch_schedule(plan.parallel.schedule, job_)),
      loop_(make_schedule_loop(plan.parallel.schedule)) {
  const std::vector<models::LanguageModel*> parts = parts_of(model);
  for (int chunk = 0; chunk < job_.chunks; ++chunk) {
    const StagePlace place{.index = chunk * job_.stages + job_.stage,
                           .count = job_.stages * job_.chunks,
                           .chunk = chunk};
    stages_.push_back(std::make_unique<Stage>(
        runtime_, plan, StageParts{*parts[static_cast<std::size_t>(chunk)], strategy},
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
    initialize_stages();
    is_initialized_ = true;
  }
  for (const PipelineAction& action : actions_) {
    act(action);
  }
  loop_->end();
  losses_ = std::exchange(internal_losses_, {});
  if (stages_.back()->is_last()) {
    stages_.back()->merge_outputs();
  }
}

void PipelineRun::initialize_stages() {
  if (stage_rules(runtime_.torch).shapes == ShapeInference::forward) {
    for (const auto& stage : stages_) {
      stage->infer_shapes();
      stage->make_buffers();
    }
    return;
  }
  connect();
  for (const auto& stage : stages_) {
    stage->back_up_buffers();
  }
  for (const auto& stage : stages_) {
    stage->infer_forward(stage->is_first() ? part_of(tokens_, 0) : Tensor{});
  }
  for (const auto& stage : stages_ | std::views::reverse) {
    stage->infer_backward([this](const Tensor& output) { return compute_loss(output, 0); });
  }
  for (const auto& stage : stages_) {
    stage->drop_backup();
    stage->make_buffers();
  }
}

// Since 2.15 _initialize_pipeline_distributed_state: a vote, then _preconnect_shared_p2p_edges.
// Before, stages passed one number on (_warmup_forward_vote), which is left out.
void PipelineRun::connect() {
  if (runtime_.torch < Release{2, 15}) {
    return;
  }
  const eager::OpScope op(runtime_, "connect", 0);
  Tensor vote = eager::empty(runtime_, {1}, DType::int32);
  batched_.all_reduce(vote).wait();
  runtime_.synchronize();
  Tensor synchronization = eager::empty(runtime_, {1}, DType::int32);
  Tensor payload = eager::empty(runtime_, {1}, DType::int32);
  next_.send(payload).wait();
  batched_.all_reduce(synchronization).wait();
  eager::end_of_frame(synchronization, payload, vote);
}

void PipelineRun::act(const PipelineAction& action) {
  Stage& stage = *stages_[static_cast<std::size_t>(action.chunk)];
  switch (action.step) {
    case PipelineStep::receive_input:
      loop_->received_input(stage.receive_input(action.micro_batch));
      break;
    case PipelineStep::forward:
      forward(stage, action.micro_batch);
      break;
    case PipelineStep::release_output:
      loop_->sent_output(stage, action.micro_batch, stage.send_output(action.micro_batch));
      break;
    case PipelineStep::receive_gradient:
      loop_->before_gradient();
      loop_->received_gradient(stage.receive_gradient(action.micro_batch));
      break;
    case PipelineStep::backward:
      backward(stage, action.micro_batch);
      break;
  }
}

void PipelineRun::forward(Stage& stage, int micro_batch) {
  const Tensor output = stage.forward_one_chunk(
      micro_batch, stage.is_first() ? part_of(tokens_, micro_batch) : Tensor{});
  loop_->after_forward();
  if (stage.is_last()) {
    internal_losses_.push_back(compute_loss(output, micro_batch));
  }
}

void PipelineRun::backward(Stage& stage, int micro_batch) {
  loop_->before_backward();
  const Tensor loss =
      stage.is_last() ? internal_losses_[static_cast<std::size_t>(micro_batch)] : Tensor{};
  const Tensor gradient = stage.backward_one_chunk(micro_batch, loss);
  if (gradient.defined()) {
    stage.send_gradient(gradient).wait();
  }
  loop_->after_backward(gradient);
}

Tensor PipelineRun::compute_loss(const Tensor& logits, int micro_batch) {
  runtime_.mark_phase("loss");
  Tensor labels = part_of(labels_, micro_batch);
  return plan_.loss.kind == LossKind::hf
             ? models::causal_lm_loss(logits, std::move(labels), plan_)
             : models::outside_loss(logits, std::move(labels), plan_.loss.kind);
}

}  // namespace highwater::pipelining
