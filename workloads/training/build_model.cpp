#include <utility>

#include "workloads/colossalai/layers/gpt.hpp"
#include "workloads/colossalai/ring/bert.hpp"
#include "workloads/deepspeed/moe/mixture.hpp"
#include "workloads/megatron/pipelined_gpt.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/pipelining/pipelined_model.hpp"
#include "workloads/pipelining/spread_model.hpp"
#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/torchtitan/decoder.hpp"
#include "workloads/torchtune/decoder.hpp"

namespace highwater::models {

namespace {

template <class Config>
bool try_make(nn::ModelContext& context, std::unique_ptr<LanguageModel>& model) {
  const ModelConfig& config = context.plan.model.config;
  if (config.is<Config>()) {
    model = make_model(context, config.as<Config>());
  }
  return model != nullptr;
}

/// The forward of the family whose configuration the plan has.
template <const auto&... families>
std::unique_ptr<LanguageModel> make_listed(nn::ModelContext& context,
                                           FamilyList<families...> /*list*/) {
  std::unique_ptr<LanguageModel> model;
  static_cast<void>(
      (try_make<typename std::remove_cvref_t<decltype(families)>::ConfigType>(context, model) ||
       ...));
  return model;
}

// The recordings' plain decoder has a class of its own.
bool runs_torchtitan(const TrainingPlan& plan) {
  const bool is_plain = plan.model.config.family().traits.torchtitan_style;
  return plan.model_code == ModelCode::torchtitan && (is_recent_torchtitan(plan) || !is_plain);
}

std::unique_ptr<LanguageModel> make_family(nn::ModelContext& context) {
  if (runs_torchtitan(context.plan)) {
    return torchtitan::make_model(context);
  }
  if (context.plan.model_code == ModelCode::torchtune) {
    return torchtune::make_decoder(context, context.plan.model.config.as<LlamaConfig>());
  }
  return make_listed(context, Families{});
}

}  // namespace

std::unique_ptr<LanguageModel> build_model(nn::ModelContext& context) {
  if (context.plan.model_code == ModelCode::megatron) {
    return megatron::make_stage(context);
  }
  if (splits_over_grid(context.plan.parallel)) {
    return colossalai::make_gpt(context, context.plan.model.config.as<Gpt2Config>());
  }
  if (runs_ring_self_attention(context.plan.parallel)) {
    return colossalai::make_ring_bert(context, context.plan.model.config.as<Gpt2Config>());
  }
  if (context.plan.experts == Experts::deepspeed) {
    return deepspeed::make_mixtral(context, context.plan.model.config.as<MixtralConfig>());
  }
  if (pipelining::is_naive(context.plan.parallel)) {
    return pipelining::make_spread(context, make_family);
  }
  if (context.plan.parallel.pp > 1) {
    return pipelining::make_stage(context, make_family);
  }
  return make_family(context);
}

}  // namespace highwater::models
