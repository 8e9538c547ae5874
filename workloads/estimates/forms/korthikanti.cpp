#include "workloads/estimates/forms/korthikanti.hpp"

#include <string>
#include <utility>
#include <vector>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/estimates/terms/model_traits.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr PartSet kActivations{MemoryPart::activations};

KorthikantiRun run_of(const EstimateInputs& inputs) {
  const ModelShape& shape = inputs.shape;
  const Parallelism& parallel = inputs.plan.parallel;
  const bool is_interleaved = parallel.schedule == PipelineSchedule::interleaved;
  return {.seq = static_cast<double>(inputs.seq),
          .batch = static_cast<double>(inputs.plan.batch),
          .hidden = static_cast<double>(shape.hidden),
          .heads = static_cast<double>(shape.heads),
          .layers = static_cast<double>(shape.layers),
          .vocab = static_cast<double>(shape.vocab),
          .tp = static_cast<double>(parallel.tp),
          .sequence_parallel = parallel.sequence_parallel,
          .pp = static_cast<double>(parallel.pp),
          .chunks = is_interleaved ? static_cast<double>(parallel.chunks) : 1.0};
}

KorthikantiRecompute recompute_of(const EstimateInputs& inputs) {
  if (inputs.plan.checkpoint.kind == CheckpointKind::full) {
    return KorthikantiRecompute::full;
  }
  if (inputs.plan.checkpoint.kind == CheckpointKind::selective_attention) {
    return KorthikantiRecompute::selective;
  }
  return keeps_scores(inputs) ? KorthikantiRecompute::none : KorthikantiRecompute::fused;
}

std::string refusal(const EstimateInputs& inputs) {
  const CheckpointKind kind = inputs.plan.checkpoint.kind;
  const bool is_partial = kind == CheckpointKind::every_n || kind == CheckpointKind::selective_op ||
                          (kind == CheckpointKind::selective_attention &&
                           inputs.plan.parallel.megatron.recompute_modules != kCoreAttention);
  return first_refusal(
      {refuse_without_training(inputs), refuse_encoders(inputs), refuse_mixtures(inputs),
       is_partial ? "it covers recomputation only of whole layers or of attention" : ""});
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  const ModelShape& shape = inputs.shape;
  const Parallelism& parallel = inputs.plan.parallel;
  return broken(
      {{has_half_activations(inputs), "it assumes 16-bit activations"},
       {shape.ffn == 4 * shape.hidden && !has_gated_mlp(inputs.plan.model.config),
        "it assumes an MLP of two matrices, 4 times the hidden width"},
       {has_all_kv_heads(inputs), "it assumes as many key-value heads as heads"},
       {shape.head_dim * shape.heads == shape.hidden,
        "it assumes that the heads together are as "
        "wide as the hidden size"},
       {residual_dropout(inputs.plan) > 0, "it assumes dropout in every layer"},
       {recompute_of(inputs) != KorthikantiRecompute::none || attention_dropout(inputs.plan) > 0,
        "it assumes dropout on the attention scores"},
       {keeps_logits_whole(inputs), "it assumes that the logits of the whole batch are kept"},
       {trains_all(inputs), "it assumes that all layers are trained"},
       {parallel.pp == 1 || parallel.schedule != PipelineSchedule::gpipe,
        "it assumes the 1F1B schedule"},
       {parallel.pp <= inputs.plan.grad_accum,
        "it assumes at least as many micro-batches as stages"},
       {parallel.cp == 1, "it does not cover context parallelism"},
       {parallel.offload != Offload::activations, "it does not cover offloaded activations"}});
}

Estimate evaluate(const EstimateInputs& inputs) {
  return korthikanti(run_of(inputs), recompute_of(inputs));
}

/// Every kind of recomputation, without and, if there are ranks to split over, with sequence
/// parallelism.
std::vector<FormulaVariant> variants(const EstimateInputs& inputs) {
  using enum KorthikantiRecompute;
  const std::vector<std::pair<KorthikantiRecompute, std::string>> kinds{
      {none, "nothing recomputed"},
      {selective, "attention recomputed"},
      {fused, "fused attention"},
      {full, "layers recomputed"}};
  KorthikantiRun run = run_of(inputs);
  std::vector<FormulaVariant> rows;
  for (const bool splits_sequence : {false, true}) {
    run.sequence_parallel = splits_sequence;
    for (const auto& [recompute, label] : kinds) {
      if (!splits_sequence || run.tp > 1) {
        rows.push_back({.label = label + (splits_sequence ? ", sequence parallel" : ""),
                        .gpu_bytes = korthikanti(run, recompute).bytes()});
      }
    }
  }
  return rows;
}

/// What a layer of width h keeps: 34 s b h, of which tensor parallelism alone splits 24.
EstimateTerm hidden_states(const KorthikantiRun& run) {
  const double sbh = run.seq * run.batch * run.hidden;
  if (run.tp == 1) {
    return {"layers", "34 s b h", 34 * sbh, kActivations};
  }
  return run.sequence_parallel
             ? EstimateTerm{"layers", "34 s b h / t", 34 * sbh / run.tp, kActivations}
             : EstimateTerm{"layers", "s b h (10 + 24 / t)", sbh * (10 + 24 / run.tp),
                            kActivations};
}

}  // namespace

Estimate korthikanti_layer(const KorthikantiRun& run, KorthikantiRecompute recompute) {
  const double rows = run.heads * run.seq * run.batch / run.tp;
  switch (recompute) {
    case KorthikantiRecompute::none:
      return {{hidden_states(run),
               {"attention scores", "5 a s^2 b / t", 5 * rows * run.seq, kActivations}}};
    case KorthikantiRecompute::selective:
      return {{hidden_states(run)}};
    case KorthikantiRecompute::fused:
      return {
          {hidden_states(run), {"attention statistics", "4 a s b / t", 4 * rows, kActivations}}};
    case KorthikantiRecompute::full:
      break;
  }
  return {{{"layers' inputs", "2 s b h", 2 * run.seq * run.batch * run.hidden, kActivations}}};
}

double korthikanti_layers_held(const KorthikantiRun& run) {
  return run.chunks > 1 ? run.layers * (1 + (run.pp - 1) / (run.pp * run.chunks)) : run.layers;
}

Estimate korthikanti(const KorthikantiRun& run, KorthikantiRecompute recompute) {
  Estimate estimate = korthikanti_layer(run, recompute);
  for (EstimateTerm& term : estimate.terms) {
    term.equation = (run.chunks > 1 ? "L (1 + (p - 1) / (p m)) " : "L ") + term.equation;
    term.bytes *= korthikanti_layers_held(run);
  }
  const double share = run.seq * run.batch / run.tp;
  estimate.terms.push_back(
      {"embedding dropout", "s b h p / t", share * run.hidden * run.pp, kActivations});
  if (run.pp == 1) {
    estimate.terms.push_back(
        {"final norm and output projection", "4 s b h / t", 4 * share * run.hidden, kActivations});
    estimate.terms.push_back(
        {"logits", "4 s b v / t", 4 * share * run.vocab, {MemoryPart::logits}});
  }
  return estimate;
}

const Formula kKorthikanti{
    .name = "korthikanti",
    .title = "Korthikanti et al., activations",
    .scope = FormulaScope::activations,
    .equation =
        "L s b h (10 + 24 / t + 5 a s / (h t)), or L s b h (34 + 5 a s / h) / t with "
        "sequence parallelism, without 5 a s / h if attention is recomputed or fused, or 2 "
        "L s b h if layers are; + s b h p / t; p = 1: + 4 s b h / t (1 + v / h)",
    .source =
        "Korthikanti et al., \"Reducing Activation Recomputation in Large Transformer "
        "Models\", table 2 and sections 4.1 to 5",
    .assumptions =
        "GPT blocks with an MLP of 4 h, 16-bit activations, dropout with masks of one "
        "byte, 1F1B with at least p micro-batches; the first stage",
    .known_errors =
        "full recomputation omits the layer being recomputed; the terms outside the layers are "
        "given only for sequence parallelism; a gated MLP keeps more; PyTorch code without fused "
        "operators keeps more",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
    .variants = variants,
};

}  // namespace highwater
