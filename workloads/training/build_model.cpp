#include <variant>

#include "traces/error.hpp"
#include "workloads/megatron/pipelined_gpt.hpp"
#include "workloads/models/families.hpp"
#include "workloads/pipelining/pipelined_model.hpp"
#include "workloads/plan/model/overloaded.hpp"

namespace highwater::models {

namespace {

std::unique_ptr<LanguageModel> make_family(nn::ModelContext& context) {
  return std::visit(
      Overloaded{[&](const Gpt2Config& config) { return make_gpt2(context, config); },
                 [&](const LlamaConfig& config) {
                   return context.plan.model_code == ModelCode::torchtitan
                              ? make_torchtitan(context, to_plain(config))
                              : make_llama(context, config);
                 },
                 [&](const PlainConfig& config) { return make_plain(context, config); },
                 [&](const T5Config& config) { return make_t5(context, config); },
                 [&](const MixtralConfig& config) { return make_mixtral(context, config); },
                 [&](const DeepseekV3Config& config) { return make_deepseek_v3(context, config); },
                 [&](const OptConfig& config) { return make_opt(context, config); },
                 [&](const BloomConfig& config) { return make_bloom(context, config); },
                 [&](const BioGptConfig& config) { return make_biogpt(context, config); },
                 [&](const GptNeoConfig& config) { return make_gpt_neo(context, config); },
                 [&](const CodegenConfig& config) { return make_codegen(context, config); },
                 [&](const GptJConfig& config) { return make_gptj(context, config); },
                 [&](const GptBigCodeConfig& config) { return make_gpt_bigcode(context, config); },
                 [&](const GptNextConfig& config) { return make_gpt_next(context, config); },
                 [](const auto&) -> std::unique_ptr<LanguageModel> {
                   throw InputError("plan", "model", "no generator for this family",
                                    "use a family that `highwater models` lists as generated");
                 }},
      context.plan.model.config);
}

}  // namespace

std::unique_ptr<LanguageModel> build_model(nn::ModelContext& context) {
  if (context.plan.model_code == ModelCode::megatron) {
    return megatron::make_stage(context);
  }
  if (context.plan.parallel.pp > 1) {
    return pipelining::make_stage(context, make_family);
  }
  return make_family(context);
}

}  // namespace highwater::models
