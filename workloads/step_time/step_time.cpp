#include "workloads/step_time/step_time.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/plan/pipeline/stage_layers.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/exposed.hpp"

namespace highwater {
namespace {

using namespace timing;

double mean_sequence(const TrainingPlan& plan) {
  return static_cast<double>(std::accumulate(plan.seq.begin(), plan.seq.end(), std::int64_t{0})) /
         static_cast<double>(plan.seq.size());
}

Share share_of(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  const double sequence = mean_sequence(plan);
  return {.tokens = static_cast<double>(plan.batch) * sequence / p.cp,
          .sequence = sequence,
          .tp = p.tp,
          .ep = p.ep,
          .etp = expert_tp(p),
          .splits_norms = p.sequence_parallel,
          .trains_weights = !trains_adapters(plan),
          .fuses_attention = plan.attention != Attention::eager};
}

/// Of Megatron's parts of a layer; norms and activations are half of what is elementwise.
double repeated_modules(const RecomputeModules& modules, const LayerTime& layer) {
  using enum RecomputeModule;
  const auto if_any = [&](std::initializer_list<RecomputeModule> any, double seconds) {
    const auto is_in = [&](RecomputeModule module) { return modules.contains(module); };
    return std::ranges::any_of(any, is_in) ? seconds : 0.0;
  };
  const LayerProducts& products = layer.products;
  return if_any({core_attention}, layer.forward.attention) +
         if_any({latent_projections}, products.into_attention.forward) +
         if_any({mlp, moe}, products.into_mlp.forward + products.out_of_mlp.forward) +
         if_any({mlp, moe, moe_activation, layernorm}, layer.forward.elementwise / 2);
}

/// Seconds of a layer's forward that run again in backward. Selection by operator keeps products
/// and attention (torchtitan's policy keeps every second product; the rest is repeated).
double repeated(const TrainingPlan& plan, const LayerTime& layer) {
  const KernelTime& forward = layer.forward;
  switch (plan.checkpoint.kind) {
    case CheckpointKind::none:
      return 0;
    case CheckpointKind::full:
      return forward.total();
    case CheckpointKind::every_n:
      return forward.total() / plan.checkpoint.n;
    case CheckpointKind::selective_op:
      return forward.elementwise + forward.products / 2;
    case CheckpointKind::selective_attention:
      return repeated_modules(plan.parallel.megatron.recompute_modules, layer);
  }
  return 0;
}

double repeated_sums(const Checkpoint& checkpoint) {
  switch (checkpoint.kind) {
    case CheckpointKind::full:
      return 1;
    case CheckpointKind::every_n:
      return 1.0 / checkpoint.n;
    case CheckpointKind::none:
    case CheckpointKind::selective_op:
    case CheckpointKind::selective_attention:
      return 0;
  }
  return 0;
}

double of_micro_batch(const Rank& rank) {
  return rank.layers * (rank.layer.forward.total() + rank.layer.backward.total() + rank.again +
                        tensor_parallel(rank) + context_parallel(rank) + expert_parallel(rank)) +
         rank.ends.forward.total() + rank.ends.backward.total();
}

/// Quantised weights are written in the type of computation before each product forward and
/// backward (bitsandbytes 0.50.2, autograd/_functions.py: MatMul4Bit; of MatMul8bitLt the
/// backward): they are read once and written once.
double dequantisation(const TrainingPlan& plan, const Rank& rank) {
  if (!is_quantized(plan.quantization)) {
    return 0;
  }
  const double stored = is_4bit(plan.quantization) ? 0.5 : 1;
  const double weights = rank.sizes.layer_parameters / plan.parallel.tp;
  return weights * (stored + rank.rates.element) / rank.rates.memory;
}

void add_dequantisation(const TrainingPlan& plan, Rank& rank) {
  const double seconds = dequantisation(plan, rank);
  rank.layer.forward.elementwise += seconds;
  rank.layer.backward.elementwise += seconds;
}

Rank rank_of(const TrainingPlan& plan, const TimeAssumptions& assumed) {
  Rank rank{.plan = &plan};
  rank.machine = machine_of(plan.gpu, assumed);
  rank.sums =
      sums_beside_products(plan, assumed) ? TensorSums::beside_products : TensorSums::waited_for;
  rank.rates = rates_of(plan, rank.machine);
  rank.sizes = layer_sizes(plan.model);
  rank.share = share_of(plan);
  rank.layer = layer_time(rank.sizes, rank.share, rank.rates);
  add_dequantisation(plan, rank);
  rank.again = repeated(plan, rank.layer);
  rank.recomputed = repeated_sums(plan.checkpoint);
  return rank;
}

/// Of all chunks of a pipeline's rank.
double layers_of_stage(const Rank& rank, int stage) {
  const Parallelism& p = rank.plan->parallel;
  std::int64_t layers = 0;
  for (const dist::LayerRange& range :
       dist::stage_layers(rank.sizes.layers, p.pp, stage, model_chunks(p))) {
    layers += range.count;
  }
  return static_cast<double>(layers);
}

/// The stage that takes longest: the first or the second, none of the others before the last having
/// more layers (workloads/plan/pipeline/stage_layers.hpp), or the last with the head.
Rank slowest_stage(const TrainingPlan& plan, const TimeAssumptions& assumed) {
  const int stages = plan.parallel.pp;
  Rank inner = rank_of(plan, assumed);
  Rank last = inner;
  inner.layers = std::max(layers_of_stage(inner, 0), stages > 2 ? layers_of_stage(inner, 1) : 0.0);
  last.layers = layers_of_stage(last, stages - 1);
  last.ends = head_time(last.sizes, last.share, last.rates);
  return stages == 1 || of_micro_batch(last) > of_micro_batch(inner) ? last : inner;
}

KernelTime both(const LayerTime& time) {
  return {time.forward.products + time.backward.products,
          time.forward.attention + time.backward.attention,
          time.forward.elementwise + time.backward.elementwise};
}

void add_kernels(const Rank& rank, double micro_batches, StepTime& time) {
  const KernelTime layer = both(rank.layer);
  const KernelTime ends = both(rank.ends);
  time[StepPart::products] = micro_batches * (rank.layers * layer.products + ends.products);
  time[StepPart::attention] = micro_batches * rank.layers * layer.attention;
  time[StepPart::elementwise] =
      micro_batches * (rank.layers * layer.elementwise + ends.elementwise);
  time[StepPart::recomputation] = micro_batches * rank.layers * rank.again;
  time[StepPart::tensor_parallel] = micro_batches * rank.layers * timing::tensor_parallel(rank);
  time[StepPart::context_parallel] = micro_batches * rank.layers * timing::context_parallel(rank);
  time[StepPart::expert_parallel] = micro_batches * rank.layers * timing::expert_parallel(rank);
}

/// Messages that an interleaved schedule waits for: those of its warm-up and of its end, since
/// overlap_p2p_comm_warmup_flush is off (Megatron-Core 0.16, model_parallel_config.py); it starts
/// the others beside a chunk's kernels.
double waited_messages(const Parallelism& p, double all) {
  return std::min(all, 2.0 * (2 * (p.pp - 1) + (p.chunks - 1) * p.pp));
}

/// Activations forward and gradients backward, split over the tensor-parallel ranks (section 4.1
/// there), for each chunk.
double sent_between_stages(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  if (p.pp == 1) {
    return 0;
  }
  const double bytes =
      rank.share.tokens * static_cast<double>(rank.sizes.hidden) * rank.rates.element / p.tp;
  const Group stages{.ranks = p.pp, .stride = p.tp * p.cp * p.dp};
  const int chunks = model_chunks(p);
  const double messages = 2.0 * rank.plan->grad_accum * chunks;
  const double waited = chunks > 1 ? waited_messages(p, messages) : messages;
  return waited * send(bytes, stages, rank.machine) +
         (messages - waited) * start_of_message(stages);
}

/// A naive pipeline has one stage at work at a time.
double bubble_of(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  const double waits = p.schedule == PipelineSchedule::naive
                           ? static_cast<double>(p.pp - 1) * rank.plan->grad_accum
                           : static_cast<double>(p.pp - 1) / model_chunks(p);
  return waits * of_micro_batch(rank);
}

}  // namespace

std::string_view to_string(StepPart part) {
  static constexpr std::array<std::string_view, kStepParts> kNames{
      "matrix products",    "attention",          "memory-bound kernels",
      "recomputation",      "tensor parallelism", "context parallelism",
      "expert parallelism", "pipeline bubble",    "sends between stages",
      "data parallelism",   "optimizer",          "offloading"};
  return kNames.at(static_cast<std::size_t>(part));
}

double StepTime::total() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

bool sums_beside_products(const TrainingPlan& plan, const TimeAssumptions& assumed) {
  const Parallelism& p = plan.parallel;
  return assumed.tensor_sums == TensorSums::beside_products && runs_megatron_core(plan) &&
         p.tp > 1 && p.sequence_parallel;
}

StepTime step_time(const TrainingPlan& plan, const TimeAssumptions& assumed) {
  const Rank rank = slowest_stage(plan, assumed);
  const double micro_batches = plan.grad_accum;
  StepTime time;
  add_kernels(rank, micro_batches, time);
  const DataParallelTime data = timing::data_parallel(rank);
  time[StepPart::bubble] = bubble_of(rank);
  time[StepPart::stages] = sent_between_stages(rank);
  time[StepPart::data_parallel] = micro_batches * data.per_micro_batch + data.per_step;
  time[StepPart::optimizer] = optimizer_update(rank);
  time[StepPart::offload] = offloading(rank);
  time.sequences = static_cast<double>(plan.batch) * plan.grad_accum * plan.parallel.dp;
  return time;
}

}  // namespace highwater
