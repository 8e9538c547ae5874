// LLaMA: the configuration and its defaults (transformers 5.12, configuration_llama.py), restricted
// to the fields that decide allocations; Mistral, Qwen and Gemma, whose code differs from LLaMA's
// in the few points of LlamaCode, share the struct.
#pragma once

#include <algorithm>
#include <memory>

#include "workloads/plan/model/families/decoder_code.hpp"
#include "workloads/plan/model/families/rope_decoder.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/preset_list.hpp"
#include "workloads/plan/model/release_profiles.hpp"
#include "workloads/plan/model/torchtitan_config.hpp"

namespace highwater {

const Family& llama_family();

inline constexpr LlamaCode kLlamaCode{.family = llama_family};

struct LlamaConfig {
  const LlamaCode* code = &kLlamaCode;
  std::int64_t vocab_size = 32000;
  std::int64_t hidden_size = 4096;
  std::int64_t intermediate_size = 11008;
  std::int64_t num_hidden_layers = 32;
  std::int64_t num_attention_heads = 32;
  std::optional<std::int64_t> num_key_value_heads;  ///< absent: num_attention_heads
  std::optional<std::int64_t> head_dim;             ///< absent: hidden_size / heads
  Activation hidden_act = Activation::silu;
  std::int64_t max_position_embeddings = 2048;
  std::optional<std::int64_t> pad_token_id;
  bool tie_word_embeddings = false;
  RopeParameters rope_parameters;
  bool attention_bias = false;      ///< q, k, v and o
  bool attention_out_bias = false;  ///< o where attention_bias is that of q, k and v: Seed-OSS
  bool mlp_bias = false;
  double attention_dropout = 0.0;
  double residual_dropout = 0.0;  ///< behind attention, feed-forward part or both
  double embedding_dropout = 0.0;
  std::optional<std::int64_t> sliding_window;  ///< mistral: all layers; qwen: see window_of()
  bool use_sliding_window = false;             ///< qwen2, qwen3
  std::int64_t max_window_layers = 28;         ///< qwen2, qwen3: first layer with the window
  std::vector<bool> sliding_layers;            ///< `layer_types`; empty: by the code's rule
  std::vector<bool> rotated_layers;         ///< smollm3: `no_rope_layers`; empty: by the interval
  std::int64_t no_rope_layer_interval = 4;  ///< smollm3
  bool use_parallel_residual = false;       ///< gpt_neox, stablelm
  bool use_post_norm = true;                ///< hyperclovax
  bool use_qk_norm = false;                 ///< cohere, phi, stablelm, glm4_moe
  std::optional<double> clip_qkv;           ///< olmo
  std::int64_t num_experts = 0;             ///< of a mixture, as the members that follow
  std::int64_t num_experts_per_tok = 0;
  std::optional<std::int64_t> moe_intermediate_size;  ///< absent: intermediate_size
  bool norm_topk_prob = false;
  std::int64_t shared_expert_intermediate_size = 0;  ///< qwen2_moe
  std::int64_t n_shared_experts = 0;                 ///< glm4_moe and others
  std::int64_t n_group = 1;
  std::int64_t topk_group = 1;
  std::int64_t first_k_dense_replace = 0;
  std::int64_t decoder_sparse_step = 1;
  std::vector<std::int64_t> mlp_only_layers;
  bool output_router_logits = false;
  std::optional<double> final_logit_softcapping;  ///< gemma2
  std::optional<double> attn_logit_softcapping;   ///< gemma2

  bool operator==(const LlamaConfig&) const = default;
};

inline const Family& family_of(const LlamaConfig& config) {
  return config.code->family();
}

/// `no_rope_layers`, or what its interval says.
inline bool is_listed_as_rotated(const LlamaConfig& config, std::int64_t layer) {
  return config.rotated_layers.empty() ? (layer + 1) % config.no_rope_layer_interval != 0
                                       : config.rotated_layers[static_cast<std::size_t>(layer)];
}

/// Whether a window needs use_sliding_window as well.
constexpr bool has_switch(WindowedLayers windows) {
  return windows == WindowedLayers::listed || windows == WindowedLayers::unrotated ||
         windows == WindowedLayers::switched || windows == WindowedLayers::early_alternate;
}

/// Whether `layer` is one of those that get the window.
inline bool has_window(const LlamaConfig& config, std::int64_t layer) {
  const LlamaCode& code = *config.code;
  if (!config.sliding_layers.empty()) {
    return config.sliding_layers[static_cast<std::size_t>(layer)];
  }
  switch (code.windows) {
    case WindowedLayers::none:
      return false;
    case WindowedLayers::all:
    case WindowedLayers::switched:
      return true;
    case WindowedLayers::early_alternate:
      return layer < config.max_window_layers && (layer + 1) % 2 != 0;
    case WindowedLayers::listed:
    case WindowedLayers::late:
      return layer >= config.max_window_layers;
    case WindowedLayers::all_but_nth:
      return (layer + 1) % code.window_pattern != 0;
    case WindowedLayers::all_but_first_of:
      return layer % code.window_pattern != 0;
    case WindowedLayers::unrotated:
      return !is_listed_as_rotated(config, layer);
  }
  return false;
}

/// The window of `layer`, absent if it attends to everything before it.
inline std::optional<std::int64_t> window_of(const LlamaConfig& config, std::int64_t layer) {
  const bool is_off = has_switch(config.code->windows) && !config.use_sliding_window;
  return !is_off && has_window(config, layer) ? config.sliding_window : std::nullopt;
}

/// Whether `layer` turns queries and keys by their positions.
inline bool is_rotated(const LlamaConfig& config, std::int64_t layer) {
  switch (config.code->rotated) {
    case RotatedLayers::all:
      return true;
    case RotatedLayers::listed:
      return is_listed_as_rotated(config, layer);
    case RotatedLayers::windowed:
      return window_of(config, layer).has_value();
    case RotatedLayers::windowed_if_any:
      return !config.sliding_window || window_of(config, layer).has_value();
  }
  return true;
}

/// The columns of a head that are turned.
inline std::int64_t rotary_dim_of(const LlamaConfig& config) {
  return static_cast<std::int64_t>(static_cast<double>(head_dim_of(config)) *
                                   config.rope_parameters.partial_rotary_factor);
}

/// Whether the feed-forward part of `layer` is a mixture.
inline bool is_mixture(const LlamaConfig& config, std::int64_t layer) {
  const bool is_listed_dense =
      std::ranges::find(config.mlp_only_layers, layer) != config.mlp_only_layers.end();
  return config.code->gate != ExpertGateCode::none && config.num_experts > 0 &&
         layer >= config.first_k_dense_replace && !is_listed_dense &&
         (layer + 1) % config.decoder_sparse_step == 0;
}

inline std::int64_t expert_width(const LlamaConfig& config) {
  return config.moe_intermediate_size.value_or(config.intermediate_size);
}

/// The norms of a block. A parallel block has one, StableLM's and GPT-NeoX's by their
/// configuration; HyperCLOVA X has two more if its configuration says so.
inline BlockNorms norms_of(const LlamaConfig& config) {
  BlockNorms norms = config.code->norms;
  if (config.code->residual == Residual::kept_attention && config.use_parallel_residual) {
    norms.before_mlp = nullptr;
  }
  if (config.code->has_optional_post_norms && !config.use_post_norm) {
    norms.after_attention = nullptr;
    norms.after_mlp = nullptr;
  }
  return norms;
}

/// When queries and keys pass a norm; some configurations switch it on.
inline QkNorm qk_norm_of(const LlamaConfig& config) {
  const bool is_off = config.code->has_optional_qk_norm && !config.use_qk_norm;
  return is_off ? QkNorm::none : config.code->qk_norm;
}

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

/// The elements of one norm of `width`.
inline std::int64_t norm_elements(NormKind kind, std::int64_t width) {
  switch (kind) {
    case NormKind::layer:
    case NormKind::layer_1p:
      return 2 * width;
    case NormKind::layer_plain:
      return 0;
    default:
      return width;
  }
}

/// The elements of the norms of queries and keys of one layer.
inline std::int64_t qk_norm_elements(const LlamaConfig& c) {
  const bool covers_heads = qk_norm_of(c) == QkNorm::whole || qk_norm_of(c) == QkNorm::per_head;
  const std::int64_t heads = covers_heads ? c.num_attention_heads : 1;
  const std::int64_t kv_heads = covers_heads ? kv_heads_of(c) : 1;
  return qk_norm_of(c) == QkNorm::none
             ? 0
             : norm_elements(c.code->qk_norm_kind, heads * head_dim_of(c)) +
                   norm_elements(c.code->qk_norm_kind, kv_heads * head_dim_of(c));
}

inline bool has_output_bias(const LlamaConfig& c) {
  return c.attention_out_bias ||
         (c.attention_bias && c.code->has_output_bias && !c.code->has_qkv_bias);
}

inline bool has_qkv_bias(const LlamaConfig& c) {
  return c.attention_bias || c.code->has_qkv_bias;
}

inline std::int64_t llama_biases_per_layer(const LlamaConfig& c) {
  const std::int64_t qkv = head_dim_of(c) * (c.num_attention_heads + 2 * kv_heads_of(c));
  const std::int64_t widened = (c.code->mlp == MlpCode::plain ? 1 : 2) * c.intermediate_size;
  return (has_qkv_bias(c) ? qkv : 0) + (has_output_bias(c) ? c.hidden_size : 0) +
         (c.mlp_bias ? widened + c.hidden_size : 0);
}

/// Norms of a block: each of the four places that has a name.
inline std::int64_t norms_per_layer(const LlamaConfig& c) {
  const BlockNorms norms = norms_of(c);
  const auto has = [](const char* name) { return std::int64_t{name != nullptr}; };
  return has(norms.before_attention) + has(norms.after_attention) + has(norms.before_mlp) +
         has(norms.after_mlp);
}

/// Weights of one mixture: gate, experts, shared experts and what opens them.
inline std::int64_t mixture_weights(const LlamaConfig& c) {
  const std::int64_t shared =
      c.shared_expert_intermediate_size + c.n_shared_experts * expert_width(c);
  return c.num_experts * (c.hidden_size + gated_mlp_weights(c.hidden_size, expert_width(c))) +
         gated_mlp_weights(c.hidden_size, shared) +
         (c.shared_expert_intermediate_size > 0 ? c.hidden_size : 0);
}

/// Weights of the feed-forward parts of all layers.
inline std::int64_t feed_forward_weights(const LlamaConfig& c) {
  const std::int64_t matrices = c.code->mlp == MlpCode::plain ? 2 : 3;
  std::int64_t weights = 0;
  for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    weights +=
        is_mixture(c, layer) ? mixture_weights(c) : matrices * c.hidden_size * c.intermediate_size;
  }
  return weights;
}

inline ParameterCount llama_parameters(const LlamaConfig& c) {
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.linear += c.num_hidden_layers * attention_weights(c.hidden_size, c.num_attention_heads,
                                                          kv_heads_of(c), head_dim_of(c));
  count.linear += feed_forward_weights(c);
  count.bias = c.num_hidden_layers * llama_biases_per_layer(c);
  count.bias += c.code->has_head_bias ? c.vocab_size : 0;
  count.norm =
      (norms_per_layer(c) * c.num_hidden_layers + 1) * norm_elements(c.code->norm, c.hidden_size);
  count.norm += c.num_hidden_layers * qk_norm_elements(c);
  count.norm +=
      c.code->has_sub_norms ? c.num_hidden_layers * (c.hidden_size + c.intermediate_size) : 0;
  return count;
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

inline constexpr FamilyTraits kLlamaTraits{.gated_mlp = true,
                                           .rms_norm = true,
                                           .tensor_parallel = true,
                                           .pipeline_stages = true,
                                           .device_map = true};

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
