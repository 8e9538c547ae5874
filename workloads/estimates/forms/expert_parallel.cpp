#include "workloads/estimates/forms/expert_parallel.hpp"

#include <algorithm>
#include <string_view>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr double kHalf = 2;  // bytes of bf16 and fp16
constexpr double kFull = 4;

MixtureParameters parameters_of(const EstimateInputs& inputs) {
  MixtureParameters sums;
  for (const ParameterInfo& tensor : inputs.tensors) {
    const bool is_of_expert = tensor.name.find(".experts.") != std::string::npos;
    (is_of_expert ? sums.experts : sums.dense) += static_cast<double>(tensor.elements);
  }
  return sums;
}

MixtureRanks ranks_of(const EstimateInputs& inputs) {
  return {.data = static_cast<double>(inputs.plan.parallel.dp),
          .expert = static_cast<double>(inputs.plan.parallel.ep)};
}

MixtureLayer layer_of(const EstimateInputs& inputs) {
  const TrainingPlan& plan = inputs.plan;
  const auto chosen = size_of(plan.model.config, FieldRole::experts_per_token);
  return {.tokens = static_cast<double>(plan.batch * inputs.seq),
          .experts = static_cast<double>(inputs.shape.experts),
          .top_k = static_cast<double>(chosen.value_or(1)),
          .hidden = static_cast<double>(inputs.shape.hidden),
          .capacity_factor = plan.parallel.megatron.moe_capacity_factor.value_or(1)};
}

ZeroStage stage_of(DataParallel kind) {
  return kind == DataParallel::zero1   ? ZeroStage::one
         : kind == DataParallel::zero2 ? ZeroStage::two
         : kind == DataParallel::zero3 ? ZeroStage::three
                                       : ZeroStage::replicated;
}

std::string refusal(const EstimateInputs& inputs) {
  return first_refusal(
      {refuse_without_training(inputs),
       inputs.shape.experts > 0 ? "" : "it counts experts; use a mixture of experts"});
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  const Parallelism& p = inputs.plan.parallel;
  return broken(
      {{has_master_weights(inputs), "it assumes 16-bit weights with fp32 copies"},
       {uses_adam(inputs), "it assumes Adam's two moments"},
       {trains_all(inputs), "it assumes that all parameters are trained"},
       {p.tp == 1 && p.pp == 1 && p.cp == 1, "it covers only data and expert parallelism"},
       {p.offload == Offload::none, "it does not cover offloading"}});
}

Estimate evaluate(const EstimateInputs& inputs) {
  return mixture_states(parameters_of(inputs), ranks_of(inputs),
                        stage_of(inputs.plan.parallel.dp_kind));
}

// What the layer's einsums of GShard read and write.
std::vector<FormulaVariant> variants(const EstimateInputs& inputs) {
  const MixtureLayer layer = layer_of(inputs);
  return {{.label = "slots of a layer, E C M in 16 bits", .gpu_bytes = kHalf * layer.slots()},
          {.label = "combine weights of a layer, S E C in fp32",
           .gpu_bytes = kFull * layer.combine_weights()}};
}

}  // namespace

double expert_parameters(double layers, double experts, double hidden, double ffn,
                         double matrices) {
  return layers * experts * matrices * hidden * ffn;
}

Estimate mixture_states(const MixtureParameters& parameters, const MixtureRanks& ranks,
                        ZeroStage stage) {
  Estimate dense = zero_paper(parameters.dense, ranks.data, stage);
  Estimate experts =
      zero_paper(parameters.experts / ranks.expert, ranks.data / ranks.expert, stage);
  for (EstimateTerm& term : experts.terms) {
    term.name = "experts' " + term.name;
    term.equation += ", P = experts / ep, N = dp / ep";
    dense.terms.push_back(std::move(term));
  }
  return dense;
}

const Formula kExpertParallel{
    .name = "expert-parallel",
    .title = "a mixture's model states with expert parallelism",
    .scope = FormulaScope::model_states,
    .equation =
        "(2 + 2 + 12) (D + X / ep) for D dense parameters and X of experts, shared by ZeRO over dp "
        "and over dp / ep ranks; slots of a layer E C M, C = k S f / E",
    .source =
        "Rajbhandari et al. 2022, \"DeepSpeed-MoE\" (arXiv 2201.05596), section 5; Fedus et al. "
        "2021 (arXiv 2101.03961), equation 3; Lepikhin et al. 2020 (arXiv 2006.16668), algorithm 2",
    .assumptions =
        "16-bit weights and gradients, fp32 weights and Adam's two moments, experts spread evenly "
        "over ep ranks",
    .known_errors =
        "it counts neither buckets nor activations; today's DeepSpeed-MoE has no weights of S E C "
        "elements (its routes are k S numbers), and Megatron-Core none without a capacity",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
    .variants = variants,
};

}  // namespace highwater
