// Which modules get LoRA adapters if a plan names none: PEFT's choice, which the family's record
// has, or that of torchtune's recipes. And who makes the layers that are adapted and quantised.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace highwater {

struct TrainingPlan;

/// PEFT's word for all linear layers but the head (peft/utils/constants.py).
inline constexpr std::string_view kAllLinear = "all-linear";

/// The plan's own targets or PEFT's; empty for models PEFT does not know. torchtune's are those of
/// its configurations (recipes/configs/llama3_1/8B_lora.yaml of 0.6.1, and all others).
std::vector<std::string> lora_targets(const TrainingPlan& plan);

/// Whether the model's own code makes its adapters with its layers (torchtune's builders), so that
/// nobody adds them.
bool builds_adapters(const TrainingPlan& plan);

/// Whether the model's own code quantises layers as it makes them (torchtune's quantize_base);
/// other quantised models come from from_pretrained().
bool builds_quantized(const TrainingPlan& plan);

/// Whether a mixture's experts are a list of linear layers each, as transformers 4 has them, and
/// not merged into two parameters.
bool lists_experts(const TrainingPlan& plan);

/// Whether a quantised model waits on the host until FSDP shards it, because each weight leaves the
/// GPU once it is quantised.
bool returns_to_host(const TrainingPlan& plan);

/// The same, because the weights are quantised on the host.
bool quantizes_on_host(const TrainingPlan& plan);

/// Whether PEFT turns a target into parameters of experts (0.21.2,
/// utils/transformers_weight_conversion.py _convert_peft_config_moe): in mixtures whose experts
/// transformers 5 merged, names of their former layers, which "all-linear" stands for as well.
bool adapts_experts(const TrainingPlan& plan);

/// Whether the model is one of transformers' classes. PEFT finds default targets and input
/// embeddings of those only.
bool is_transformers_model(const TrainingPlan& plan);

}  // namespace highwater
