// The model families: one row each. A family is its header beside this one (what it is), its
// forward in workloads/models (how it runs) and its row here. Whoever needs no family's struct
// includes all_families.hpp.
#pragma once

#include <array>

#include "workloads/plan/model/families/bert.hpp"
#include "workloads/plan/model/families/biogpt.hpp"
#include "workloads/plan/model/families/bloom.hpp"
#include "workloads/plan/model/families/codegen.hpp"
#include "workloads/plan/model/families/deepseek_v3.hpp"
#include "workloads/plan/model/families/falcon.hpp"
#include "workloads/plan/model/families/gemma.hpp"
#include "workloads/plan/model/families/gemma2.hpp"
#include "workloads/plan/model/families/glm.hpp"
#include "workloads/plan/model/families/gpt2.hpp"
#include "workloads/plan/model/families/gpt_bigcode.hpp"
#include "workloads/plan/model/families/gpt_neo.hpp"
#include "workloads/plan/model/families/gpt_neox.hpp"
#include "workloads/plan/model/families/gpt_next.hpp"
#include "workloads/plan/model/families/gptj.hpp"
#include "workloads/plan/model/families/grouped_mixtures.hpp"
#include "workloads/plan/model/families/latent.hpp"
#include "workloads/plan/model/families/llama.hpp"
#include "workloads/plan/model/families/llama_kin.hpp"
#include "workloads/plan/model/families/mistral.hpp"
#include "workloads/plan/model/families/mixtral.hpp"
#include "workloads/plan/model/families/mixtures.hpp"
#include "workloads/plan/model/families/olmo.hpp"
#include "workloads/plan/model/families/openai_gpt.hpp"
#include "workloads/plan/model/families/opt.hpp"
#include "workloads/plan/model/families/phi.hpp"
#include "workloads/plan/model/families/qwen2.hpp"
#include "workloads/plan/model/families/recorded_decoder.hpp"
#include "workloads/plan/model/families/shared_experts.hpp"
#include "workloads/plan/model/families/sinks.hpp"
#include "workloads/plan/model/families/t5.hpp"

namespace highwater {

template <const auto&... families>
struct FamilyList {
  static constexpr std::array<const Family*, sizeof...(families)> all{&families...};
};

/// In the order in which `highwater models` lists them.
using Families = FamilyList<kGpt2,               //
                            kOpt,                //
                            kBloom,              //
                            kGptNeo,             //
                            kCodegen,            //
                            kGptJ,               //
                            kBioGpt,             //
                            kGptBigCode,         //
                            kLlama,              //
                            kMistral,            //
                            kGemma,              //
                            kQwen2,              //
                            kQwen3,              //
                            kGemma2,             //
                            kGemma3,             //
                            kVaultgemma,         //
                            kPhi,                //
                            kPhi3,               //
                            kOlmo,               //
                            kOlmo2,              //
                            kOlmo3,              //
                            kExaone4,            //
                            kGranite,            //
                            kHyperclovax,        //
                            kSmollm3,            //
                            kGlm,                //
                            kGlm4,               //
                            kCohere,             //
                            kCohere2,            //
                            kStarcoder2,         //
                            kGptNeox,            //
                            kStablelm,           //
                            kNemotron,           //
                            kJais2,              //
                            kArcee,              //
                            kCwm,                //
                            kErnie45,            //
                            kHelium,             //
                            kHunyuan,            //
                            kInternlm3,          //
                            kIquestcoder,        //
                            kMinistral,          //
                            kSeedOss,            //
                            kMixtral,            //
                            kQwen2Moe,           //
                            kQwen3Moe,           //
                            kOlmoe,              //
                            kFlexOlmo,           //
                            kMinimaxM2,          //
                            kGranitemoe,         //
                            kDots1,              //
                            kGlm4Moe,            //
                            kSolarOpen,          //
                            kBitnet,             //
                            kGranitemoeshared,   //
                            kGptSw3,             //
                            kGlm4MoeLite,        //
                            kYoutu,              //
                            kFalcon,             //
                            kOpenaiGpt,          //
                            kGptNeoxJapanese,    //
                            kApertus,            //
                            kDiffllama,          //
                            kGraniteSwa,         //
                            kGranitemoeSwa,      //
                            kCohere2Moe,         //
                            kAfmoe,              //
                            kBeam,               //
                            kMimoV2Flash,        //
                            kGemma4Text,         //
                            kGemma4UnifiedText,  //
                            kMinicpm3,           //
                            kDeepseekV2,         //
                            kDeepseekV3,         //
                            kT5,                 //
                            kBert,               //
                            kGptNext,            //
                            kRecordedDecoder>;

}  // namespace highwater
