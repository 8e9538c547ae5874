// The families: one maker each, defined in the file of that name.
#pragma once

#include <memory>

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/model_spec.hpp"

namespace highwater::models {

std::unique_ptr<LanguageModel> make_gpt2(nn::ModelContext& context, const Gpt2Config& config);
std::unique_ptr<LanguageModel> make_llama(nn::ModelContext& context, const LlamaConfig& config);
std::unique_ptr<LanguageModel> make_plain(nn::ModelContext& context, const PlainConfig& config);
std::unique_ptr<LanguageModel> make_torchtitan(nn::ModelContext& context,
                                               const PlainConfig& config);
std::unique_ptr<LanguageModel> make_opt(nn::ModelContext& context, const OptConfig& config);
std::unique_ptr<LanguageModel> make_bloom(nn::ModelContext& context, const BloomConfig& config);
std::unique_ptr<LanguageModel> make_biogpt(nn::ModelContext& context, const BioGptConfig& config);
std::unique_ptr<LanguageModel> make_gpt_neo(nn::ModelContext& context, const GptNeoConfig& config);
std::unique_ptr<LanguageModel> make_codegen(nn::ModelContext& context, const CodegenConfig& config);
std::unique_ptr<LanguageModel> make_gptj(nn::ModelContext& context, const GptJConfig& config);
std::unique_ptr<LanguageModel> make_gpt_bigcode(nn::ModelContext& context,
                                                const GptBigCodeConfig& config);
std::unique_ptr<LanguageModel> make_gpt_next(nn::ModelContext& context,
                                             const GptNextConfig& config);
std::unique_ptr<LanguageModel> make_mixtral(nn::ModelContext& context, const MixtralConfig& config);
std::unique_ptr<LanguageModel> make_deepseek_v3(nn::ModelContext& context,
                                                const DeepseekV3Config& config);
std::unique_ptr<LanguageModel> make_t5(nn::ModelContext& context, const T5Config& config);

}  // namespace highwater::models
