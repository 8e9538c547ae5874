#include "tools/studies/plan_search/least_memory.hpp"

#include <algorithm>

#include "workloads/plan/megatron_core.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/step_time/layer_sizes.hpp"

namespace highwater {
namespace {

using timing::LayerSizes;

/// Layers of the first stage, which never has more than the others; one fewer if they do not divide
/// and the embedding counts as one.
double layers_of_first_stage(const LayerSizes& sizes, const Parallelism& p) {
  const std::int64_t parts = std::int64_t{p.pp} * model_chunks(p);
  const std::int64_t each =
      sizes.layers % parts == 0 ? sizes.layers / parts : (sizes.layers + 2) / parts - 1;
  return static_cast<double>(std::max<std::int64_t>(each, 0) * model_chunks(p));
}

/// Bytes per parameter that the first stage holds, and of its optimizer's states.
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
  if (plan.lora.rank > 0 || !plan.training) {
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

/// Forwards whose backward has not begun when the first stage holds most, in micro-batches of all
/// its layers.
double in_flight(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  if (p.pp == 1 || p.schedule == PipelineSchedule::naive) {
    return 1;
  }
  const double chunks = model_chunks(p);
  const double all = plan.grad_accum;
  return chunks == 1 ? std::min<double>(p.pp, all)
                     : std::min(all, (2.0 * (p.pp - 1) + (chunks - 1) * p.pp) / chunks);
}

double share_recomputed(const Checkpoint& checkpoint) {
  switch (checkpoint.kind) {
    case CheckpointKind::none:
    case CheckpointKind::selective_attention:
      return 0;
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

/// Bytes that a layer keeps of a micro-batch.
double kept_of_layer(const TrainingPlan& plan, const LayerSizes& s) {
  const Parallelism& p = plan.parallel;
  if (!plan.training || plan.lora.rank > 0 || saves_on_cpu(p)) {
    return 0;
  }
  const double tokens = static_cast<double>(plan.batch * shortest_sequence(plan)) / p.cp;
  const double hidden = static_cast<double>(s.hidden) / p.tp;
  const double heads = static_cast<double>(2 * s.queries + 2 * s.keys) / p.tp;
  const std::int64_t ffn = s.experts > 1 ? 0 : (s.ffn_inputs + 1) * s.ffn;
  const double all = 2 * hidden + heads + static_cast<double>(ffn) / p.tp;
  const double recomputed = share_recomputed(plan.checkpoint);
  return 2 * tokens * (recomputed * hidden + (1 - recomputed) * all);
}

}  // namespace

bool has_least_memory(const TrainingPlan& plan) {
  return !is_other(plan.model.config) && !is_quantized(plan.quantization) && !plan.compile &&
         !plan.float8 && plan.engine != EngineKind::torch && plan.engine != EngineKind::both;
}

Bytes least_memory(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  const LayerSizes sizes = timing::layer_sizes(plan.model);
  const double layers = layers_of_first_stage(sizes, p);
  const double parameters =
      layers * (sizes.layer_parameters - sizes.expert_parameters + sizes.expert_parameters / p.ep) /
      p.tp;
  const StateBytes bytes = states_of(plan);
  const double activations =
      splits_over_grid(p) ? 0 : layers * in_flight(plan) * kept_of_layer(plan, sizes);
  const double at_update = (bytes.parameters + bytes.gradients + bytes.optimizer) * parameters;
  const double after_forward = (bytes.parameters + bytes.optimizer) * parameters + activations;
  return Bytes{static_cast<std::uint64_t>(std::max(at_update, after_forward))};
}

}  // namespace highwater
