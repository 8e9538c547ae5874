// Models of the Hugging Face hub by the names that configurations use: copies and fine-tuned
// versions of a preset, and sizes that are no presets.
//
// Source: config.json of each on huggingface.co.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace highwater::program_table {

/// The preset that has the sizes of `name` ("NousResearch/Llama-2-7b-hf": "llama-2-7b"), or the
/// text of its config.json, or `name`. The last part of a path counts ("~/weights/llama-7b").
std::string preset_of(std::string_view name);

/// "bf16", "fp16" or "fp32": the type of the weights that the hub has of a preset; absent if it is
/// not listed.
std::optional<std::string_view> checkpoint_type(std::string_view preset);

/// PEFT's "all-linear" for a preset's family: every linear layer but the head. Empty if unknown.
std::string all_linear_layers(std::string_view preset);

/// The model_type of a preset or of the text of a config.json; empty if unknown.
std::string family_of(std::string_view preset);

/// The hidden size of a preset; absent if there is none of that name.
std::optional<long long> hidden_size_of(std::string_view preset);

}  // namespace highwater::program_table
