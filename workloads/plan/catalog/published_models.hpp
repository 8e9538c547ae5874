// Sizes of models on the Hugging Face hub, in the words of their config.json, as far as they differ
// from the defaults of transformers' configuration class or move memory.
//
// Source: config.json of each, compared with its parameters as transformers 5.23 makes them
// (tests/data/models/published_counts.json), the number that the hub shows, and with the copies in
// Lightning-AI/litgpt (litgpt/config.py), AI-Hypercomputer/maxtext
// (checkpoint_conversion/utils/hf_model_configs.py) and alibaba/Pai-Megatron-Patch
// (examples/qwen1_5). Tulu 3's vocabulary is Llama's with a padding word, in multiples of 8
// (allenai/open-instruct, open_instruct/finetune.py).
#pragma once

#include <span>
#include <string_view>

namespace highwater {

struct PublishedModel {
  std::string_view name;
  std::string_view hub_id;
  std::string_view weights;  ///< their type in the checkpoint: "bf16", "fp16", "fp32"
  std::string_view config;   ///< the text of a config.json
};

std::span<const PublishedModel> published_models();

}  // namespace highwater
