#include "workloads/estimates/forms/megatron.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/estimates/terms/model_traits.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr PartSet kActivations{MemoryPart::activations};
constexpr PartSet kLogits{MemoryPart::logits};
constexpr PartSet kTokens{MemoryPart::inputs};

double norm_parameters(const MegatronModel& model) {
  return (model.rms_norm ? 1 : 2) * model.hidden;
}

double embedding_parameters(const MegatronModel& model) {
  return model.hidden * model.padded_vocab;
}

/// Of the micro-batches that a full pipeline holds, those in flight; more when interleaved.
struct PipelineFactor {
  double value = 1;
  std::string equation;  ///< in front of a product: "min(1, n / p) "
};

PipelineFactor pipeline_factor(const MegatronJob& job) {
  if (job.chunks > 0) {
    return {1 + (job.pp - 1) / (job.pp * job.chunks), "(1 + (p - 1) / (p m)) "};
  }
  return job.pp > 1 ? PipelineFactor{std::min(1.0, job.microbatches / job.pp), "min(1, n / p) "}
                    : PipelineFactor{};
}

Estimate activations_with_sp(const MegatronModel& model, const MegatronJob& job) {
  const double sb = job.seq * job.batch;
  const double sbh = sb * model.hidden;
  const auto [factor, prefix] = pipeline_factor(job);
  const double share = factor / job.tp;
  Estimate estimate{
      {{"layers", prefix + "s b h (18 + 4 F / h) L / t",
        share * sbh * (18 + 4 * model.ffn / model.hidden) * model.layers, kActivations},
       {"token ids", prefix + "8 s b p / t", share * 8 * sb * job.pp, kTokens},
       {"embedding dropout", prefix + "s b h p / t", share * sbh * job.pp, kActivations}}};
  if (job.pp == 1) {
    estimate.terms.push_back(
        {"final norm and output projection", "4 s b h / t", 4 * sbh / job.tp, kActivations});
    estimate.terms.push_back(
        {"logits", "4 s b v / t", 4 * sb * model.padded_vocab / job.tp, kLogits});
  }
  return estimate;
}

Estimate activations_without_sp(const MegatronModel& model, const MegatronJob& job) {
  constexpr double kSlack = 1.05;
  const double sb = job.seq * job.batch;
  const double sbh = sb * model.hidden;
  const auto [pipeline, prefix] = pipeline_factor(job);
  const double factor = kSlack * pipeline;
  Estimate estimate{
      {{"layers", prefix + "1.05 s b h (10 + 24 / t) L",
        factor * sbh * (10 + 24 / job.tp) * model.layers, kActivations},
       {"token ids", prefix + "1.05 * 8 s b p", factor * 8 * sb * job.pp, kTokens},
       {"embedding dropout", prefix + "1.05 s b h p", factor * sbh * job.pp, kActivations}}};
  if (job.pp == 1) {
    estimate.terms.push_back({"final norm", "1.05 * 2 s b h", kSlack * 2 * sbh, kActivations});
    estimate.terms.push_back(
        {"logits", "1.05 * 2 s b v / t", kSlack * 2 * sb * model.padded_vocab / job.tp, kLogits});
  }
  return estimate;
}

MegatronModel model_of(const EstimateInputs& inputs) {
  const ModelShape& shape = inputs.shape;
  const auto real = [](std::int64_t size) { return static_cast<double>(size); };
  return {.hidden = real(shape.hidden),
          .layers = real(shape.layers),
          .ffn = real(shape.ffn),
          .padded_vocab = megatron_padded_vocab(real(shape.vocab), inputs.plan.parallel.tp),
          .query_ratio = real(shape.head_dim * shape.heads) / real(shape.hidden),
          .kv_ratio = real(shape.kv_heads) / real(shape.heads),
          .gated = has_gated_mlp(inputs.plan.model.config),
          .rms_norm = has_rms_norm(inputs.plan.model.config),
          .untied = !shape.tied};
}

MegatronJob job_of(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  const bool is_interleaved = parallel.schedule == PipelineSchedule::interleaved;
  return {.seq = static_cast<double>(inputs.seq),
          .batch = static_cast<double>(inputs.plan.batch),
          .tp = static_cast<double>(parallel.tp),
          .pp = static_cast<double>(parallel.pp),
          .dp = static_cast<double>(parallel.dp),
          .chunks = is_interleaved ? static_cast<double>(parallel.chunks) : 0.0,
          .microbatches = static_cast<double>(inputs.plan.grad_accum),
          .distributed_optimizer = parallel.dp_kind == DataParallel::zero1,
          .sequence_parallel = parallel.sequence_parallel};
}

std::string refusal(const EstimateInputs& inputs) {
  return first_refusal(
      {refuse_without_training(inputs), refuse_encoders(inputs), refuse_mixtures(inputs)});
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  return broken(
      {{has_master_weights(inputs), "it assumes 16-bit weights with fp32 copies"},
       {uses_adam(inputs), "it assumes Adam's two moments"},
       {trains_all(inputs), "it assumes that all parameters are trained"},
       {keeps_gradients(inputs), "it assumes that all gradients live at the same time"},
       {keeps_logits_whole(inputs), "it assumes that the logits of the whole batch are kept"},
       {has_all_kv_heads(inputs),
        "it assumes as many key-value heads as heads when counting "
        "activations"},
       {embedding_width(inputs.plan.model.config) == inputs.shape.hidden,
        "it assumes an embedding as wide as the layers"},
       {drops_only_scores(inputs),
        "it assumes that attention's scores are recomputed, and nothing else"},
       {!has_gated_mlp(inputs.plan.model.config),
        "it counts the activations of an MLP of two matrices"},
       {residual_dropout(inputs.plan) > 0, "it assumes dropout in every layer"},
       assumes_data_parallel(inputs, {DataParallel::ddp, DataParallel::zero1},
                             "replicas or the distributed optimizer"),
       {parallel.pp == 1 || parallel.schedule != PipelineSchedule::gpipe,
        "it assumes the 1F1B schedule"},
       {parallel.cp == 1, "it does not cover context parallelism"},
       {parallel.offload == Offload::none, "it does not cover offloading"}});
}

Estimate evaluate(const EstimateInputs& inputs) {
  const MegatronModel model = model_of(inputs);
  const MegatronJob job = job_of(inputs);
  Estimate estimate = megatron_states(model, job);
  for (EstimateTerm& term : megatron_activations(model, job).terms) {
    estimate.terms.push_back(std::move(term));
  }
  return estimate;
}

}  // namespace

double megatron_padded_vocab(double vocab, double tp, double divisor) {
  const double multiple = divisor * tp;
  return std::ceil(vocab / multiple) * multiple;
}

double megatron_block_parameters(const MegatronModel& model) {
  const double h = model.hidden;
  const double mlp = 2 * h * model.ffn * (model.gated ? 1.5 : 1);
  const double attention = 2 * h * h * (1 + model.kv_ratio) * model.query_ratio;
  const double norm = norm_parameters(model);
  return model.layers * (mlp + attention + 2 * norm) + norm;
}

double megatron_parameters(const MegatronModel& model) {
  return megatron_block_parameters(model) + (model.untied ? 2 : 1) * embedding_parameters(model);
}

double megatron_shard_parameters(const MegatronModel& model, const MegatronJob& job) {
  const double embedding = embedding_parameters(model);
  const double head = model.untied && job.pp == 1 ? embedding : 0;
  return (megatron_block_parameters(model) / job.pp + embedding + head) / job.tp;
}

Estimate megatron_states(const MegatronModel& model, const MegatronJob& job) {
  const double shard = megatron_shard_parameters(model, job);
  const bool is_shared = job.distributed_optimizer;
  return {{{"16-bit weights", "2 shard", 2 * shard, {MemoryPart::parameters}},
           {"fp32 gradients", "4 shard", 4 * shard, {MemoryPart::gradients}},
           {"optimizer states",
            is_shared ? "12 shard / d" : "12 shard",
            12 * shard / (is_shared ? job.dp : 1),
            {MemoryPart::optimizer_states}}}};
}

Estimate megatron_activations(const MegatronModel& model, const MegatronJob& job) {
  return job.sequence_parallel ? activations_with_sp(model, job)
                               : activations_without_sp(model, job);
}

const Formula kMegatron{
    .name = "megatron",
    .title = "Megatron-LM, theoretical memory",
    .scope = FormulaScope::tensors,
    .equation =
        "18 shard, or (6 + 12 / d) shard; shard = (block / p + h v) / t; + (s b h (18 + 4 "
        "F / h) L + 8 s b p + s b h p + [p = 1] 4 s b (h + v)) / t with sequence "
        "parallelism, else 1.05 (s b h (10 + 24 / t) L + 8 s b p + s b h p + [p = 1] 2 s b "
        "(h + v / t)); p > 1: all of it times min(1, n / p) for n micro-batches, or 1 + (p - 1) / "
        "(p m) with m chunks per rank",
    .source =
        "Megatron-LM, megatron/training/theoretical_memory_usage.py, "
        "compute_weight_and_optimizer_memory, compute_activation_memory and "
        "compute_activation_memory_without_sp",
    .assumptions =
        "16-bit weights, fp32 gradients and copies, Adam, attention recomputed, dropout; "
        "the most loaded rank; vocabulary padded to a multiple of 128 t",
    .known_errors =
        "a gated MLP keeps more than 4 F / h; the form without sequence parallelism ignores F and "
        "assumes 4 h; biases of linear layers are not counted; norms are divided by t although "
        "every rank has them all; without sequence parallelism logits take 2 bytes, not 4",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
};

}  // namespace highwater
