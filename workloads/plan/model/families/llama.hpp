// LLaMA: the configuration and its defaults (transformers 5.12, configuration_llama.py), restricted
// to the fields that decide allocations; Mistral, Qwen and Gemma, whose code differs from LLaMA's
// in the few points of LlamaCode, share the struct.
#pragma once

#include <memory>

#include "workloads/plan/model/families/llama_config.hpp"
#include "workloads/plan/model/families/llama_parameters.hpp"
#include "workloads/plan/model/megatron_config.hpp"
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

/// What Megatron Bridge makes of the family: rope, RMSNorm, swiglu, no biases; norms of each head
/// of queries and keys for Qwen3.
inline std::optional<megatron::Config> llama_in_megatron(const LlamaConfig& c) {
  const QkNorm qk_norm = c.code->attention.qk_norm.when;
  if (c.hidden_act != Activation::silu || c.mlp_bias ||
      (qk_norm != QkNorm::none && qk_norm != QkNorm::in_projection)) {
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
                          .qkv_bias = has_qkv_bias(c),
                          .tied = c.tie_word_embeddings,
                          .qk_norm = qk_norm != QkNorm::none,
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
  if (config.code->block.norm != NormKind::llama ||
      config.code->attention.qk_norm.when != QkNorm::none) {
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

/// What LLaMA's relatives share; each names itself, its fields, its defaults.
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
