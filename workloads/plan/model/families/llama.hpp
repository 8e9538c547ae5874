// LLaMA: the configuration and its defaults (transformers 5.12, configuration_llama.py), restricted
// to the fields that decide allocations; Mistral, Qwen and Gemma, whose code differs from LLaMA's
// in the few points of LlamaCode, share the struct.
#pragma once

#include <memory>

#include "workloads/plan/model/families/llama_config.hpp"
#include "workloads/plan/model/families/llama_parameters.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/model/preset_list.hpp"
#include "workloads/plan/model/release_profiles.hpp"
#include "workloads/plan/model/torchtitan_config.hpp"

namespace highwater {

inline constexpr ConfigField kAttentionBiasField =
    field<&LlamaConfig::attention_bias>("attention_bias");

inline constexpr std::array kLlamaFields =
    joined(kRopeDecoderFields<LlamaConfig>,
           std::array{kAttentionBiasField, field<&LlamaConfig::mlp_bias>("mlp_bias")});

/// LLaMA's own class refuses heads that do not divide the width, although head_dim is given.
inline void check_llama(const LlamaConfig& config, ModelProblems& problems) {
  check_rope_decoder(config, problems);
  if (config.head_dim) {
    problems.check_divides("num_attention_heads", config.num_attention_heads, "hidden_size",
                           config.hidden_size);
  }
}

/// The sizes in which decoders of this shape differ.
struct LlamaSize {
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
};

inline LlamaConfig sized(LlamaConfig config, const LlamaSize& size) {
  config.hidden_size = size.hidden;
  config.intermediate_size = size.ffn;
  config.num_hidden_layers = size.layers;
  config.num_attention_heads = size.heads;
  config.num_key_value_heads = size.kv_heads;
  return config;
}

inline LlamaConfig llama_3() {
  return {.vocab_size = 128256,
          .max_position_embeddings = 8192,
          .rope_parameters = {.rope_theta = 500000.0}};
}

/// From 3.1 on, positions are stretched from 8192 by `factor`.
inline LlamaConfig llama_3_1(double factor) {
  LlamaConfig config = llama_3();
  config.max_position_embeddings = 131072;
  config.rope_parameters.rope_type = RopeType::llama3;
  config.rope_parameters.factor = factor;
  config.rope_parameters.original_max_position_embeddings = 8192;
  return config;
}

inline LlamaConfig llama_3_2(const LlamaSize& size, std::int64_t head_dim) {
  LlamaConfig config = sized(llama_3_1(32.0), size);
  config.tie_word_embeddings = true;
  config.head_dim = head_dim;
  return config;
}

inline void add_llama_presets(PresetList& presets) {
  const LlamaConfig first{};
  LlamaConfig second{};
  second.max_position_embeddings = 4096;
  presets.add("llama-160m", "JackFram/llama-160m", sized(first, {768, 3072, 12, 12, 12}));
  presets.add("tinyllama-1.1b", "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
              sized(first, {2048, 5632, 22, 32, 4}));
  presets.add("llama-7b", "huggyllama/llama-7b", sized(first, {4096, 11008, 32, 32, 32}));
  presets.add("llama-2-7b", "meta-llama/Llama-2-7b-hf", sized(second, {4096, 11008, 32, 32, 32}));
  presets.add("llama-2-13b", "meta-llama/Llama-2-13b-hf", sized(second, {5120, 13824, 40, 40, 40}));
  presets.add("llama-2-70b", "meta-llama/Llama-2-70b-hf", sized(second, {8192, 28672, 80, 64, 8}));
  presets.add("llama-3-8b", "meta-llama/Meta-Llama-3-8B",
              sized(llama_3(), {4096, 14336, 32, 32, 8}), "llama-8b");
  presets.add("llama-3-70b", "meta-llama/Meta-Llama-3-70B",
              sized(llama_3(), {8192, 28672, 80, 64, 8}), "llama-70b");
  presets.add("llama-3.1-8b", "meta-llama/Llama-3.1-8B",
              sized(llama_3_1(8.0), {4096, 14336, 32, 32, 8}));
  presets.add("llama-3.1-70b", "meta-llama/Llama-3.1-70B",
              sized(llama_3_1(8.0), {8192, 28672, 80, 64, 8}));
  presets.add("llama-3.1-405b", "meta-llama/Llama-3.1-405B",
              sized(llama_3_1(8.0), {16384, 53248, 126, 128, 8}), "llama-405b");
  presets.add("llama-3.2-1b", "meta-llama/Llama-3.2-1B", llama_3_2({2048, 8192, 16, 32, 8}, 64),
              "llama-1b");
  presets.add("llama-3.2-3b", "meta-llama/Llama-3.2-3B", llama_3_2({3072, 8192, 28, 24, 8}, 128),
              "llama-3b");
}

/// What Megatron Bridge makes of the family: rope, RMSNorm, swiglu, no biases.
inline std::optional<megatron::Config> llama_in_megatron(const LlamaConfig& c) {
  if (c.hidden_act != Activation::silu || c.code->qk_norm != QkNorm::none || c.mlp_bias) {
    return std::nullopt;
  }
  return megatron::Config{.layers = c.num_hidden_layers,
                          .hidden = c.hidden_size,
                          .heads = c.num_attention_heads,
                          .kv_heads = kv_heads_of(c),
                          .head_dim = head_dim_of(c),
                          .ffn = c.intermediate_size,
                          .vocab = c.vocab_size,
                          .rms_norm = true,
                          .gated = true,
                          .qkv_bias = c.attention_bias || c.code->has_qkv_bias,
                          .tied = c.tie_word_embeddings,
                          .attention_dropout = c.attention_dropout};
}

/// What of `config` torchtitan's decoder cannot do, one sentence each.
inline std::vector<std::string> torchtitan_problems(const LlamaConfig& config) {
  ModelProblems problems;
  if (config.code != &kLlamaCode) {
    problems.add("torchtitan's decoder is a LLaMA, this model is of family {}; use --model-code hf",
                 family_of(config).name);
  }
  if (config.tie_word_embeddings) {
    problems.add(
        "torchtitan's decoder has an untied head, this model a tied one; use --model-code hf");
  }
  if (config.attention_bias || config.mlp_bias) {
    problems.add("torchtitan's decoder has no biases; use --model-code hf");
  }
  if (config.hidden_act != Activation::silu) {
    problems.add("torchtitan's decoder uses silu, this model {}; use --model-code hf",
                 to_string(config.hidden_act));
  }
  if (config.head_dim && *config.head_dim * config.num_attention_heads != config.hidden_size) {
    problems.add(
        "torchtitan's decoder has heads of hidden_size / heads, this model of {}; "
        "use --model-code hf",
        *config.head_dim);
  }
  return std::move(problems).take();
}

/// The same architecture for torchtitan's decoder. @pre torchtitan_problems() is empty
inline TorchtitanConfig to_torchtitan(const LlamaConfig& config) {
  return {.vocab = config.vocab_size,
          .dim = config.hidden_size,
          .ffn = config.intermediate_size,
          .layers = config.num_hidden_layers,
          .heads = config.num_attention_heads,
          .kv_heads = kv_heads_of(config),
          .theta = config.rope_parameters.rope_theta};
}

/// What of `config` torchtune's decoder cannot do, one sentence each.
inline std::vector<std::string> torchtune_problems(const LlamaConfig& config) {
  ModelProblems problems;
  if (config.code->norm != NormKind::llama || config.code->qk_norm != QkNorm::none) {
    problems.add(
        "torchtune's decoder is simulated for LLaMA, Mistral and Qwen2, this model is of "
        "family {}; use --model-code hf",
        family_of(config).name);
    return std::move(problems).take();
  }
  if (config.attention_bias || config.mlp_bias) {
    problems.add("torchtune's decoder has no biases but those of Qwen2; use --model-code hf");
  }
  if (config.hidden_act != Activation::silu) {
    problems.add("torchtune's decoder uses silu, this model {}; use --model-code hf",
                 to_string(config.hidden_act));
  }
  if (config.head_dim && *config.head_dim * config.num_attention_heads != config.hidden_size) {
    problems.add(
        "torchtune's decoder has heads of hidden_size / heads, this model of {}; "
        "use --model-code hf",
        *config.head_dim);
  }
  return std::move(problems).take();
}

inline constexpr FamilyTraits kLlamaTraits{
    .gated_mlp = true, .rms_norm = true, .tensor_parallel = true, .pipeline_stages = true};

/// What LLaMA's relatives share; each names itself, its fields, its defaults and presets.
inline constexpr Family kLlamaRelative{.traits = kLlamaTraits,
                                       .parameters = untyped<llama_parameters>,
                                       .lora_targets = kRopeDecoderLoraTargets,
                                       .releases = kLlamaReleases,
                                       .check = untyped<check_rope_decoder<LlamaConfig>>,
                                       .read_more = untyped<read_rope_parameters<LlamaConfig>>,
                                       .write_more = untyped<write_rope_parameters<LlamaConfig>>,
                                       .to_megatron = untyped<llama_in_megatron>,
                                       .torchtitan_problems = untyped<torchtitan_problems>,
                                       .torchtune_problems = untyped<torchtune_problems>};

constexpr Family llama_record() {
  Family record = kLlamaRelative;
  record.name = "llama";
  record.class_prefix = "LlamaFor";
  record.fields = kLlamaFields;
  record.add_presets = add_llama_presets;
  record.check = untyped<check_llama>;
  return record;
}

inline constexpr auto kLlama = family<LlamaConfig>(llama_record());

inline const Family& llama_family() {
  return kLlama;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const LlamaConfig& config);
}

}  // namespace highwater
