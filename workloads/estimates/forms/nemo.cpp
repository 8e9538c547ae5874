#include "workloads/estimates/forms/nemo.hpp"

#include <cmath>
#include <utility>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/estimates/terms/model_traits.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr PartSet kActivations{MemoryPart::activations};
constexpr PartSet kLogits{MemoryPart::logits};
constexpr double kMlpWidth = 2.65625;  // F / h of the article's models

void append(Estimate more, Estimate& estimate) {
  for (EstimateTerm& term : more.terms) {
    estimate.terms.push_back(std::move(term));
  }
}

NemoRun run_of(const EstimateInputs& inputs) {
  const ModelShape& shape = inputs.shape;
  return {.seq = static_cast<double>(inputs.seq),
          .batch = static_cast<double>(inputs.plan.batch),
          .hidden = static_cast<double>(shape.hidden),
          .heads = static_cast<double>(shape.heads),
          .layers = static_cast<double>(shape.layers),
          .vocab = static_cast<double>(shape.vocab),
          .tp = static_cast<double>(inputs.plan.parallel.tp),
          .dp = static_cast<double>(inputs.plan.parallel.dp)};
}

std::string refusal(const EstimateInputs& inputs) {
  return first_refusal(
      {refuse_without_training(inputs), refuse_encoders(inputs), refuse_mixtures(inputs),
       inputs.plan.parallel.pp > 1 ? "it covers only jobs without pipeline parallelism" : ""});
}

bool has_its_mlp(const EstimateInputs& inputs) {
  const double width =
      static_cast<double>(inputs.shape.ffn) / static_cast<double>(inputs.shape.hidden);
  return has_gated_mlp(inputs.plan.model.config) && std::abs(width - kMlpWidth) < 0.05;
}

/// The printed formula for a run that keeps everything covers only one GPU.
bool keeps_everything(const EstimateInputs& inputs) {
  return inputs.plan.checkpoint.kind == CheckpointKind::none && keeps_scores(inputs) &&
         inputs.plan.parallel.tp == 1;
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs, bool has_dropout,
                                            bool knows_full_storage) {
  const Parallelism& parallel = inputs.plan.parallel;
  return broken({{has_its_mlp(inputs), "it assumes a gated MLP of 2.65625 times the hidden width"},
                 {inputs.plan.precision == Precision::bf16 && inputs.plan.optimizer.master_weights,
                  "it assumes bf16 weights with fp32 copies"},
                 {uses_adam(inputs), "it assumes Adam's two moments"},
                 {trains_all(inputs), "it assumes that all parameters are trained"},
                 {keeps_gradients(inputs), "it assumes that all gradients live at the same time"},
                 {keeps_logits_whole(inputs),
                  "it assumes that the logits of the whole batch are "
                  "kept"},
                 {has_all_kv_heads(inputs), "it assumes as many key-value heads as heads"},
                 {drops_only_scores(inputs) || (knows_full_storage && keeps_everything(inputs)),
                  "it assumes that attention's scores are recomputed, and nothing else"},
                 assumes_data_parallel(inputs, {DataParallel::zero1}, "ZeRO-1"),
                 {!parallel.sequence_parallel,
                  "it assumes tensor parallelism without sequence "
                  "parallelism"},
                 {parallel.cp == 1, "it does not cover context parallelism"},
                 {parallel.offload == Offload::none, "it does not cover offloading"},
                 {(residual_dropout(inputs.plan) > 0) == has_dropout,
                  has_dropout ? "it assumes dropout in every layer"
                              : "it assumes no dropout in the layers"}});
}

std::vector<std::string> broken_by_printed(const EstimateInputs& inputs) {
  return broken_assumptions(inputs, true, true);
}

std::vector<std::string> broken_by_table(const EstimateInputs& inputs) {
  return broken_assumptions(inputs, false, false);
}

Estimate evaluate(const EstimateInputs& inputs, NemoVersion version) {
  const NemoRun run = run_of(inputs);
  Estimate estimate = nemo_static(version, static_cast<double>(inputs.parameters()), run);
  append(version == NemoVersion::printed && keeps_everything(inputs)
             ? nemo_full_activations(run)
             : nemo_activations(version, run),
         estimate);
  append(nemo_cross_entropy(run), estimate);
  return estimate;
}

Estimate evaluate_printed(const EstimateInputs& inputs) {
  return evaluate(inputs, NemoVersion::printed);
}

Estimate evaluate_table(const EstimateInputs& inputs) {
  return evaluate(inputs, NemoVersion::table);
}

/// The article's gradient buckets: their size, and what static memory becomes if each layer fills
/// one of the default size.
std::vector<FormulaVariant> bucket_variants(const EstimateInputs& inputs) {
  constexpr double kDefaultSlots = 50e6;  // 200 MB of fp32 gradients
  const NemoRun run = run_of(inputs);
  const auto parameters = static_cast<double>(inputs.parameters());
  const double layer = nemo_layer_parameters(run.hidden, static_cast<double>(inputs.shape.ffn));
  return {{.label = "a gradient bucket, 4 P / (L t)",
           .gpu_bytes = nemo_bucket(parameters, run.layers, run.tp)},
          {.label = "a gradient bucket of one layer's matrices",
           .gpu_bytes = nemo_bucket(layer, 1, run.tp)},
          {.label = "static memory",
           .gpu_bytes = nemo_static(NemoVersion::table, parameters, run).bytes()},
          {.label = "static memory, a 200 MB bucket for each layer (rough)",
           .gpu_bytes = nemo_bucketed_static(parameters, run, kDefaultSlots)}};
}

}  // namespace

Estimate nemo_static(NemoVersion version, double parameters, const NemoRun& run) {
  const double share = parameters / run.tp;
  const bool is_printed = version == NemoVersion::printed;
  return {
      {{"bf16 weights", "2 P / t", 2 * share, {MemoryPart::parameters}},
       {"gradients",
        is_printed ? "2 P / t" : "4 P / t",
        (is_printed ? 2 : 4) * share,
        {MemoryPart::gradients}},
       {"optimizer states", "10 P / (d t)", 10 / run.dp * share, {MemoryPart::optimizer_states}}}};
}

Estimate nemo_activations(NemoVersion version, const NemoRun& run) {
  const double sbh = run.seq * run.batch * run.hidden;
  const bool is_printed = version == NemoVersion::printed;
  return {{{"layers", is_printed ? "s b h L (10 + 28.25 / t)" : "s b h L (8 + 28.25 / t)",
            sbh * run.layers * ((is_printed ? 10 : 8) + 28.25 / run.tp), kActivations},
           {"embedding and final norm", "2 s b h + 3 s b h / t", 2 * sbh + 3 * sbh / run.tp,
            kActivations},
           {"logits", "4 s b v / t", 4 * run.seq * run.batch * run.vocab / run.tp, kLogits}}};
}

Estimate nemo_full_activations(const NemoRun& run) {
  const double sb = run.seq * run.batch;
  const double sbh = sb * run.hidden;
  return {{{"layers", "L s b h (38.25 + 5 a s / h)",
            run.layers * sbh * (38.25 + 5 * run.heads * run.seq / run.hidden), kActivations},
           {"embedding and final norm", "5 s b h", 5 * sbh, kActivations},
           {"logits", "4 s b v", 4 * sb * run.vocab, kLogits}}};
}

Estimate nemo_cross_entropy(const NemoRun& run) {
  const double share = run.seq * run.batch * run.vocab / run.tp;
  Estimate estimate{{{"fp32 copy of the logits", "4 s b v / t", 4 * share, kLogits}}};
  if (run.tp > 1) {
    estimate.terms.push_back({"communication of the loss", "2 s b v / t", 2 * share, kLogits});
  }
  return estimate;
}

double nemo_bucket(double parameters, double layers, double tp) {
  return 4 * parameters / (layers * tp);
}

double nemo_layer_parameters(double hidden, double ffn) {
  return 4 * hidden * hidden + 3 * hidden * ffn;
}

double nemo_bucketed_static(double parameters, const NemoRun& run, double bucket_slots) {
  const double embeddings = 2 * run.vocab * run.hidden / run.tp;
  return (run.layers * bucket_slots + embeddings) * (4 + 10 / run.dp) + 2 * parameters / run.tp;
}

const Formula kNemoPrinted{
    .name = "nemo-printed",
    .title = "NeMo, formulas as printed",
    .scope = FormulaScope::tensors,
    .equation =
        "(4 + 10 / d) P / t + s b h L (10 + 28.25 / t) + 2 s b h + (3 s b h + 4 s b v) / t "
        "+ 4 s b v / t, and 2 s b v / t more if t > 1",
    .source =
        "NeMo blog on GPT training memory estimation: static memory, activation memory, "
        "cross-entropy overhead",
    .assumptions =
        "decoder with a gated MLP of 2.65625 h, bf16 with fp32 copies, Adam in ZeRO-1 (Apex "
        "distributed optimizer), attention recomputed, tensor parallelism without sequence "
        "parallelism, dropout; on one GPU that keeps everything: L s b h (38.25 + 5 a s / h) + 5 "
        "s b h + 4 s b v",
    .known_errors =
        "no row of the article's own table follows it: the table uses 4 bytes for gradients and "
        "no dropout masks (nemo-table); the MLP's list adds up to 24.25, not 23.25; no gradient "
        "buckets, which took 12.5 GB where 3.61 GB were estimated",
    .refusal = refusal,
    .broken_assumptions = broken_by_printed,
    .evaluate = evaluate_printed,
};

const Formula kNemoTable{
    .name = "nemo-table",
    .title = "NeMo, formulas of the table",
    .scope = FormulaScope::tensors,
    .equation =
        "(6 + 10 / d) P / t + s b h L (8 + 28.25 / t) + 2 s b h + (3 s b h + 4 s b v) / t "
        "+ 4 s b v / t, and 2 s b v / t more if t > 1",
    .source =
        "NeMo blog on GPT training memory estimation: the table of 18 runs, all 72 numbers of "
        "which this form reproduces",
    .assumptions = "as nemo-printed, with fp32 gradients and without dropout in the layers",
    .known_errors =
        "measured peaks are about 5 % higher for the models with 5 and 7 billion parameters; "
        "gpt-7b needs 6.85e9 parameters, but 6.84e9 are displayed; no gradient buckets",
    .refusal = refusal,
    .broken_assumptions = broken_by_table,
    .evaluate = evaluate_table,
    .variants = bucket_variants,
};

}  // namespace highwater
