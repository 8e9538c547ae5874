#include "workloads/estimates/terms/assumptions.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

std::string_view word(DataParallel kind) {
  constexpr std::array<std::string_view, 7> kWords{"ddp",   "zero0", "zero1", "zero2",
                                                   "zero3", "fsdp1", "fsdp2"};
  return kWords[static_cast<std::size_t>(kind)];
}

}  // namespace

std::vector<std::string> broken(std::initializer_list<Assumption> assumptions) {
  std::vector<std::string> sentences;
  for (const Assumption& assumption : assumptions) {
    if (!assumption.holds) {
      sentences.push_back(assumption.sentence);
    }
  }
  return sentences;
}

std::string refuse_without_training(const EstimateInputs& inputs) {
  return inputs.plan.training ? "" : "it covers only training; the plan runs only the forward pass";
}

std::string refuse_encoders(const EstimateInputs& inputs) {
  return inputs.shape.decoder_layers == 0 ? ""
                                          : "it covers only decoders; the model has an "
                                            "encoder";
}

std::string refuse_mixtures(const EstimateInputs& inputs) {
  return inputs.shape.experts == 0 ? ""
                                   : "it covers only dense blocks; the model is a mixture of "
                                     "experts";
}

std::string first_refusal(std::initializer_list<std::string> refusals) {
  const auto* const first =
      std::ranges::find_if(refusals, [](const std::string& refusal) { return !refusal.empty(); });
  return first == refusals.end() ? "" : *first;
}

bool uses_adam(const EstimateInputs& inputs) {
  const OptimizerKind kind = inputs.plan.optimizer.kind;
  return kind == OptimizerKind::adam || kind == OptimizerKind::adamw;
}

bool trains_all(const EstimateInputs& inputs) {
  return !trains_adapters(inputs.plan);
}

bool has_half_weights(const EstimateInputs& inputs) {
  return model_dtype(inputs.plan.precision) != DType::fp32;
}

bool has_master_weights(const EstimateInputs& inputs) {
  return has_half_weights(inputs) && inputs.plan.optimizer.master_weights;
}

bool has_half_activations(const EstimateInputs& inputs) {
  return inputs.plan.precision != Precision::fp32;
}

bool keeps_scores(const EstimateInputs& inputs) {
  return inputs.plan.attention == Attention::eager || inputs.plan.attention == Attention::sdpa_math;
}

bool drops_only_scores(const EstimateInputs& inputs) {
  const CheckpointKind kind = inputs.plan.checkpoint.kind;
  const bool drops_other_parts = inputs.plan.parallel.megatron.recompute_modules != kCoreAttention;
  return (kind == CheckpointKind::selective_attention && !drops_other_parts) ||
         (kind == CheckpointKind::none && !keeps_scores(inputs));
}

bool keeps_logits_whole(const EstimateInputs& inputs) {
  const LossKind loss = inputs.plan.loss.kind;
  return loss != LossKind::chunked && !fuses_head(loss);
}

bool keeps_gradients(const EstimateInputs& inputs) {
  return !inputs.plan.optimizer.in_backward;
}

bool has_all_kv_heads(const EstimateInputs& inputs) {
  return inputs.shape.kv_heads == inputs.shape.heads;
}

bool splits_the_model(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  return parallel.tp > 1 || parallel.pp > 1 || parallel.cp > 1 || parallel.ep > 1;
}

Assumption assumes_data_parallel(const EstimateInputs& inputs,
                                 std::initializer_list<DataParallel> kinds,
                                 std::string_view form_assumes) {
  const DataParallel kind = inputs.plan.parallel.dp_kind;
  return {
      inputs.plan.parallel.dp == 1 || std::ranges::count(kinds, kind) > 0,
      fmt::format("it assumes {}; the plan's data parallelism is {}", form_assumes, word(kind))};
}

}  // namespace highwater
