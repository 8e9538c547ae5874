#include "tools/studies/plan_search/least_memory.hpp"

#include <algorithm>

#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/layer_sizes.hpp"

namespace highwater {
namespace {

using timing::LayerSizes;

/// What the first and the last stage have at least, which have no more than the others; one fewer
/// if they do not divide and the embedding and the head count as one each.
double layers_of_stage(const LayerSizes& sizes, const Parallelism& p) {
  const std::int64_t parts = std::int64_t{p.pp} * model_chunks(p);
  const std::int64_t each =
      sizes.layers % parts == 0 ? sizes.layers / parts : (sizes.layers + 2) / parts - 1;
  return static_cast<double>(std::max<std::int64_t>(each, 0) * model_chunks(p));
}

/// Bytes per parameter that a stage holds, and of its optimizer's states.
struct StateBytes {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
};

bool keeps_two_moments(const TrainingPlan& plan) {
  return plan.optimizer.kind == OptimizerKind::adam || plan.optimizer.kind == OptimizerKind::adamw;
}

/// What no weight of a layer goes below.
double bytes_of_weight(const TrainingPlan& plan) {
  if (!is_quantized(plan.quantization)) {
    return static_cast<double>(item_size(model_dtype(plan.precision)));
  }
  return is_4bit(plan.quantization) ? 0.5 : 1;
}

StateBytes native_states(const TrainingPlan& plan) {
  const double element = bytes_of_weight(plan);
  if (trains_adapters(plan) || !plan.training) {
    return {.parameters = element};
  }
  const bool is_updated_later = !plan.optimizer.in_backward;
  return {element, is_updated_later ? element : 0, keeps_two_moments(plan) ? 2 * element : 0};
}

StateBytes deepspeed_states(const Parallelism& p) {
  const double shards = p.dp * p.cp;
  const bool is_kept = p.offload == Offload::none;
  const bool divides_parameters = p.dp_kind == DataParallel::zero3;
  return {.parameters = offloads_params(p)   ? 0
                        : divides_parameters ? 2 / shards
                                             : 2,
          .optimizer = is_kept ? 12 / (p.dp_kind == DataParallel::zero0 ? 1 : shards) : 0};
}

StateBytes megatron_states(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  if (plan.framework == Framework::nemo) {
    return {.parameters = 2, .optimizer = 8.0 / (p.dp * p.cp)};
  }
  const double shards = p.dp_kind == DataParallel::zero1 ? static_cast<double>(p.dp) * p.cp : 1;
  return {2, p.megatron.fp32_grads ? 4.0 : 2.0, 12 / shards};
}

StateBytes states_of(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  if (plan.framework == Framework::colossalai_gemini || splits_over_grid(p) || fsdp_offloads(p)) {
    return {};
  }
  if (runs_megatron_core(plan)) {
    return megatron_states(plan);
  }
  if (uses_deepspeed(plan)) {
    return deepspeed_states(p);
  }
  StateBytes states = native_states(plan);
  if (is_fsdp1(p) || is_fsdp2(p)) {
    const double shards = static_cast<double>(p.dp) * p.cp / p.fsdp.replicas;
    states = {states.parameters / shards, states.gradients / shards, states.optimizer / shards};
  }
  return states;
}

/// A stage of a pipeline, or all of a model that is not cut into stages.
enum class Stage : std::uint8_t { all, first, last };

/// Forwards whose backward has not begun when the stage holds most, in micro-batches of all its
/// layers.
double in_flight(const TrainingPlan& plan, Stage stage) {
  const Parallelism& p = plan.parallel;
  if (stage == Stage::all || p.schedule == PipelineSchedule::naive) {
    return 1;
  }
  const double chunks = model_chunks(p);
  const double all = plan.grad_accum;
  const double stages_behind = stage == Stage::first ? p.pp - 1 : 0;
  return chunks == 1 ? std::min(stages_behind + 1, all)
                     : std::min(all, (2 * stages_behind + (chunks - 1) * p.pp) / chunks);
}

double share_recomputed(const TrainingPlan& plan) {
  const Checkpoint& checkpoint = plan.checkpoint;
  switch (checkpoint.kind) {
    case CheckpointKind::none:
      return 0;
    case CheckpointKind::selective_attention:
      return plan.parallel.megatron.recompute_modules == kCoreAttention ? 0 : 1;
    case CheckpointKind::every_n:
      return 1.0 / checkpoint.n;
    case CheckpointKind::full:
    case CheckpointKind::selective_op:
      return 1;
  }
  return 1;
}

std::int64_t shortest_sequence(const TrainingPlan& plan) {
  return *std::ranges::min_element(plan.seq);
}

/// Whether a layer has a norm before its attention and another before its MLP, each of which keeps
/// its input: Megatron's and torchtitan's layers do; of other code some has one for both.
bool has_two_norms_in_turn(const TrainingPlan& plan) {
  return runs_megatron_core(plan) || has_torchtitan_names(plan);
}

/// Elements of a token that selective recomputation keeps by torchtitan's policy: of seven products
/// the first (queries), the third (values), the fifth and the seventh (of a gated MLP).
double kept_products(const TrainingPlan& plan, const LayerSizes& s) {
  const bool keeps_every_second = plan.checkpoint.kind == CheckpointKind::selective_op &&
                                  has_torchtitan_names(plan) && s.experts == 1 && s.ffn_inputs == 2;
  return keeps_every_second ? static_cast<double>(s.queries + s.keys + s.ffn + s.hidden) : 0;
}

/// Bytes that a layer keeps of a micro-batch.
double kept_of_layer(const TrainingPlan& plan, const LayerSizes& s) {
  const Parallelism& p = plan.parallel;
  if (!plan.training || trains_adapters(plan) || saves_on_cpu(p)) {
    return 0;
  }
  const double tokens = static_cast<double>(plan.batch * shortest_sequence(plan)) / p.cp;
  const double hidden = static_cast<double>(s.hidden) / p.tp;
  const double heads = static_cast<double>(2 * s.queries + 2 * s.keys) / p.tp;
  const std::int64_t ffn = s.experts > 1 ? 0 : (s.ffn_inputs + 1) * s.ffn;
  const double of_norms = has_two_norms_in_turn(plan) ? 2 * hidden : 0;
  const double all = 2 * hidden + of_norms + heads + static_cast<double>(ffn) / p.tp;
  const double recomputed = share_recomputed(plan);
  const double products = kept_products(plan, s) / p.tp;
  return 2 * tokens * (recomputed * (hidden + products) + (1 - recomputed) * all);
}

/// Of the embedding and the head what the stage has. A model that is spread over GPUs by its size
/// may have both anywhere.
double end_parameters(const TrainingPlan& plan, const LayerSizes& s, Stage stage) {
  if (stage == Stage::all) {
    return s.ends_parameters / plan.parallel.tp;
  }
  return plan.parallel.schedule == PipelineSchedule::naive
             ? 0
             : static_cast<double>(s.vocab * s.hidden) / plan.parallel.tp;
}

double parameters_of_layer(const TrainingPlan& plan, const LayerSizes& s) {
  const Parallelism& p = plan.parallel;
  return (s.layer_parameters - s.expert_parameters) / p.tp +
         s.expert_parameters / ranks_of_experts(p);
}

/// Whether gradients of earlier micro-batches are there when a later one has been forward:
/// Megatron-Core's buffers always, those of autograd from the second micro-batch on.
bool keeps_gradients_in_forward(const TrainingPlan& plan) {
  return runs_megatron_core(plan) || (plan.parallel.pp == 1 && plan.grad_accum > 1);
}

/// What FSDP has gathered when the last layer has been forward.
double gathered_layer(const TrainingPlan& plan, const LayerSizes& s) {
  const Parallelism& p = plan.parallel;
  const bool gathers_layers = (is_fsdp1(p) || is_fsdp2(p)) && p.dp * p.cp > p.fsdp.replicas &&
                              p.fsdp.units != FsdpUnits::adapters;
  if (!gathers_layers) {
    return 0;
  }
  const DType type = p.fsdp.param_dtype.value_or(compute_dtype(plan.precision));
  const double spread = s.layer_parameters - s.expert_parameters;
  return static_cast<double>(item_size(type)) * spread / p.tp;
}

/// Logits and what the loss makes of them, in 16 bits each.
double logits(const TrainingPlan& plan, const LayerSizes& s, Stage stage) {
  const Parallelism& p = plan.parallel;
  const bool is_whole = !fuses_head(plan.loss.kind) && plan.loss.kind != LossKind::chunked;
  const bool has_head = stage != Stage::first && p.schedule != PipelineSchedule::naive;
  if (!is_whole || !has_head || !plan.training) {
    return 0;
  }
  const double tokens = static_cast<double>(plan.batch * shortest_sequence(plan)) / p.cp;
  return 4 * tokens * static_cast<double>(s.vocab) / p.tp;
}

double least_of_stage(const TrainingPlan& plan, const LayerSizes& sizes, Stage stage) {
  const double layers = layers_of_stage(sizes, plan.parallel);
  const double parameters =
      layers * parameters_of_layer(plan, sizes) + end_parameters(plan, sizes, stage);
  const StateBytes bytes = states_of(plan);
  const double at_update = (bytes.parameters + bytes.gradients + bytes.optimizer) * parameters;
  if (splits_over_grid(plan.parallel)) {
    return at_update;
  }
  const double gradients = keeps_gradients_in_forward(plan) ? bytes.gradients : 0;
  const double activations = layers * in_flight(plan, stage) * kept_of_layer(plan, sizes);
  const double beside = std::max(gathered_layer(plan, sizes), logits(plan, sizes, stage));
  const double after_forward =
      (bytes.parameters + gradients + bytes.optimizer) * parameters + activations + beside;
  return std::max(at_update, after_forward);
}

}  // namespace

bool has_least_memory(const TrainingPlan& plan) {
  return !is_other(plan.model.config) && !is_quantized(plan.quantization) && !plan.compile &&
         !plan.float8 && plan.engine != EngineKind::torch && plan.engine != EngineKind::both;
}

Bytes least_memory(const TrainingPlan& plan) {
  const LayerSizes sizes = timing::layer_sizes(plan.model);
  const double least = plan.parallel.pp == 1 ? least_of_stage(plan, sizes, Stage::all)
                                             : std::max(least_of_stage(plan, sizes, Stage::first),
                                                        least_of_stage(plan, sizes, Stage::last));
  return Bytes{static_cast<std::uint64_t>(least)};
}

}  // namespace highwater
