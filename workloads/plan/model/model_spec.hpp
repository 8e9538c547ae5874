// What a model is: one plain struct per family, with the field names and defaults of transformers
// 5.12 (configuration_*.py of each family), restricted to the fields that decide allocations.
//
// The structs say what a config says and resolve nothing: an absent head_dim stays absent, the free
// functions below answer. So an override of hidden_size still moves what is derived from it.
// Reading files is hf_config's work, names are presets' work, counting is parameter_count's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace highwater {

/// The activations of the covered families, by their names in transformers' ACT2FN.
enum class Activation : std::uint8_t {
  relu,
  gelu,               ///< one kernel, erf form
  gelu_new,           ///< the tanh formula in Python, eight operators
  gelu_pytorch_tanh,  ///< one kernel, tanh form
  silu                ///< also called swish
};

std::string_view to_string(Activation activation);

/// The activation that transformers calls `name`, if it is covered.
std::optional<Activation> parse_activation(std::string_view name);

struct Gpt2Config {
  std::int64_t vocab_size = 50257;
  std::int64_t n_positions = 1024;
  std::int64_t n_embd = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::optional<std::int64_t> n_inner;  ///< absent: 4 * n_embd
  Activation activation_function = Activation::gelu_new;
  double resid_pdrop = 0.1;
  double embd_pdrop = 0.1;
  double attn_pdrop = 0.1;
  bool scale_attn_weights = true;
  bool scale_attn_by_inverse_layer_idx = false;
  bool reorder_and_upcast_attn = false;
  bool tie_word_embeddings = true;

  bool operator==(const Gpt2Config&) const = default;
};

struct OptConfig {
  std::int64_t vocab_size = 50272;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t ffn_dim = 3072;
  std::int64_t max_position_embeddings = 2048;
  bool do_layer_norm_before = true;
  bool remove_final_layer_norm = false;             ///< `_remove_final_layer_norm`
  std::optional<std::int64_t> word_embed_proj_dim;  ///< absent: hidden_size
  double dropout = 0.1;
  double attention_dropout = 0.0;
  std::int64_t num_attention_heads = 12;
  Activation activation_function = Activation::relu;
  double layerdrop = 0.0;
  std::optional<std::int64_t> pad_token_id = 1;
  bool enable_bias = true;
  bool layer_norm_elementwise_affine = true;
  bool tie_word_embeddings = true;

  bool operator==(const OptConfig&) const = default;
};

struct BloomConfig {
  std::int64_t vocab_size = 250880;
  std::int64_t hidden_size = 64;
  std::int64_t n_layer = 2;
  std::int64_t n_head = 8;
  bool apply_residual_connection_post_layernorm = false;
  double hidden_dropout = 0.0;
  double attention_dropout = 0.0;
  std::int64_t pretraining_tp = 1;
  bool slow_but_exact = false;
  bool tie_word_embeddings = true;

  bool operator==(const BloomConfig&) const = default;
};

enum class GptNeoAttention : std::uint8_t { global, local };

struct GptNeoConfig {
  std::int64_t vocab_size = 50257;
  std::int64_t max_position_embeddings = 2048;
  std::int64_t hidden_size = 2048;
  std::int64_t num_layers = 24;
  /// One per layer; empty: global and local in turn, as the default attention_types say.
  std::vector<GptNeoAttention> attention_layers;
  std::int64_t num_heads = 16;
  std::optional<std::int64_t> intermediate_size;  ///< absent: 4 * hidden_size
  std::int64_t window_size = 256;
  Activation activation_function = Activation::gelu_new;
  double resid_dropout = 0.0;
  double embed_dropout = 0.0;
  double attention_dropout = 0.0;
  bool tie_word_embeddings = true;

  bool operator==(const GptNeoConfig&) const = default;
};

struct CodegenConfig {
  std::int64_t vocab_size = 50400;
  std::int64_t n_positions = 2048;
  std::int64_t n_embd = 4096;
  std::int64_t n_layer = 28;
  std::int64_t n_head = 16;
  std::int64_t rotary_dim = 64;
  std::optional<std::int64_t> n_inner;  ///< absent: 4 * n_embd
  Activation activation_function = Activation::gelu_new;
  double resid_pdrop = 0.0;
  double embd_pdrop = 0.0;
  double attn_pdrop = 0.0;
  bool tie_word_embeddings = false;

  bool operator==(const CodegenConfig&) const = default;
};

struct GptJConfig {
  std::int64_t vocab_size = 50400;
  std::int64_t n_positions = 2048;
  std::int64_t n_embd = 4096;
  std::int64_t n_layer = 28;
  std::int64_t n_head = 16;
  std::int64_t rotary_dim = 64;
  std::optional<std::int64_t> n_inner;  ///< absent: 4 * n_embd
  Activation activation_function = Activation::gelu_new;
  double resid_pdrop = 0.0;
  double embd_pdrop = 0.0;
  double attn_pdrop = 0.0;
  bool tie_word_embeddings = false;

  bool operator==(const GptJConfig&) const = default;
};

struct BioGptConfig {
  std::int64_t vocab_size = 42384;
  std::int64_t hidden_size = 1024;
  std::int64_t num_hidden_layers = 24;
  std::int64_t num_attention_heads = 16;
  std::int64_t intermediate_size = 4096;
  Activation hidden_act = Activation::gelu;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::int64_t max_position_embeddings = 1024;
  bool scale_embedding = true;
  double layerdrop = 0.0;
  double activation_dropout = 0.0;
  std::optional<std::int64_t> pad_token_id = 1;
  bool tie_word_embeddings = true;

  bool operator==(const BioGptConfig&) const = default;
};

struct GptBigCodeConfig {
  std::int64_t vocab_size = 50257;
  std::int64_t n_positions = 1024;
  std::int64_t n_embd = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::optional<std::int64_t> n_inner;  ///< absent: 4 * n_embd
  Activation activation_function = Activation::gelu_pytorch_tanh;
  double resid_pdrop = 0.1;
  double embd_pdrop = 0.1;
  double attn_pdrop = 0.1;
  bool scale_attn_weights = true;
  bool attention_softmax_in_fp32 = true;
  bool scale_attention_softmax_in_fp32 = true;
  bool multi_query = true;
  bool tie_word_embeddings = true;

  bool operator==(const GptBigCodeConfig&) const = default;
};

/// Rotary position embeddings as far as they decide buffers; the frequencies do not.
enum class RopeType : std::uint8_t { standard, linear, dynamic, yarn, longrope, llama3 };

struct RopeParameters {
  RopeType rope_type = RopeType::standard;  ///< transformers' "default" is `standard` here
  double rope_theta = 10000.0;
  double factor = 1.0;
  double partial_rotary_factor = 1.0;  ///< of head_dim
  std::optional<std::int64_t> original_max_position_embeddings;

  bool operator==(const RopeParameters&) const = default;
};

/// Whose Python code runs: families that share the decoder with RMSNorm, rope and a gated MLP.
enum class LlamaFamily : std::uint8_t { llama, mistral, qwen2, qwen3, gemma };

/// Defaults are those of `llama`; llama_defaults() gives those of the others.
struct LlamaConfig {
  LlamaFamily family = LlamaFamily::llama;
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
  bool attention_bias = false;  ///< q, k, v and o (llama, gemma, qwen3)
  bool mlp_bias = false;        ///< llama only
  double attention_dropout = 0.0;
  std::optional<std::int64_t> sliding_window;  ///< mistral: all layers; qwen: see window_of()
  bool use_sliding_window = false;             ///< qwen2, qwen3
  std::int64_t max_window_layers = 28;         ///< qwen2, qwen3: first layer with the window
  std::vector<bool> sliding_layers;  ///< qwen2, qwen3: `layer_types`; empty: by max_window_layers

  bool operator==(const LlamaConfig&) const = default;
};

/// The family's own defaults.
LlamaConfig llama_defaults(LlamaFamily family);

/// q, k and v have biases whatever attention_bias says.
constexpr bool always_has_qkv_bias(LlamaFamily family) {
  return family == LlamaFamily::qwen2;
}

/// Queries and keys pass an RMSNorm of head_dim.
constexpr bool has_qk_norm(LlamaFamily family) {
  return family == LlamaFamily::qwen3;
}

struct MixtralConfig {
  std::int64_t vocab_size = 32000;
  std::int64_t hidden_size = 4096;
  std::int64_t intermediate_size = 14336;
  std::int64_t num_hidden_layers = 32;
  std::int64_t num_attention_heads = 32;
  std::optional<std::int64_t> num_key_value_heads = 8;
  std::optional<std::int64_t> head_dim;  ///< absent: hidden_size / heads
  Activation hidden_act = Activation::silu;
  std::int64_t max_position_embeddings = 131072;
  std::optional<std::int64_t> pad_token_id;
  bool tie_word_embeddings = false;
  RopeParameters rope_parameters{.rope_theta = 1e6};
  std::optional<std::int64_t> sliding_window;
  double attention_dropout = 0.0;
  std::int64_t num_experts_per_tok = 2;
  std::int64_t num_local_experts = 8;
  bool output_router_logits = false;
  double router_jitter_noise = 0.0;

  bool operator==(const MixtralConfig&) const = default;
};

/// Without the multi-token-prediction module, which transformers does not build either.
struct DeepseekV3Config {
  std::int64_t vocab_size = 129280;
  std::int64_t hidden_size = 7168;
  std::int64_t intermediate_size = 18432;
  std::int64_t moe_intermediate_size = 2048;
  std::int64_t num_hidden_layers = 61;
  std::int64_t num_attention_heads = 128;
  std::optional<std::int64_t> num_key_value_heads = 128;
  std::int64_t n_shared_experts = 1;
  std::int64_t n_routed_experts = 256;
  std::int64_t kv_lora_rank = 512;
  std::optional<std::int64_t> q_lora_rank = 1536;  ///< absent: one full q_proj
  std::int64_t qk_rope_head_dim = 64;
  std::int64_t v_head_dim = 128;
  std::int64_t qk_nope_head_dim = 128;
  std::int64_t n_group = 8;
  std::int64_t topk_group = 4;
  std::int64_t num_experts_per_tok = 8;
  std::int64_t first_k_dense_replace = 3;
  bool norm_topk_prob = true;
  Activation hidden_act = Activation::silu;
  std::int64_t max_position_embeddings = 4096;
  std::optional<std::int64_t> pad_token_id;
  bool tie_word_embeddings = false;
  RopeParameters rope_parameters;
  bool rope_interleave = true;
  bool attention_bias = false;
  double attention_dropout = 0.0;

  bool operator==(const DeepseekV3Config&) const = default;
};

/// Encoder and decoder; tie_word_embeddings is forced by transformers 5.
struct T5Config {
  std::int64_t vocab_size = 32128;
  std::int64_t d_model = 512;
  std::int64_t d_kv = 64;
  std::int64_t d_ff = 2048;
  std::int64_t num_layers = 6;
  std::optional<std::int64_t> num_decoder_layers;  ///< absent: num_layers
  std::int64_t num_heads = 8;
  std::int64_t relative_attention_num_buckets = 32;
  std::int64_t relative_attention_max_distance = 128;
  double dropout_rate = 0.1;
  Activation dense_act_fn = Activation::relu;  ///< from feed_forward_proj
  bool is_gated_act = false;                   ///< from feed_forward_proj
  bool scale_decoder_outputs = true;           ///< false when the file says untied (T5 v1.1)

  bool operator==(const T5Config&) const = default;
};

/// NeMo's "GPT next" sizes: as llama with LayerNorm (weight and bias) and an untied head. No
/// published class; only layers, width, vocabulary and rounded counts are (models.json).
struct GptNextConfig {
  std::int64_t vocab_size = 50257;
  std::int64_t hidden_size = 2048;
  std::int64_t ffn_hidden_size = 5440;
  std::int64_t num_layers = 24;
  std::int64_t num_attention_heads = 16;
  double attention_dropout = 0.0;
  double hidden_dropout = 0.0;

  bool operator==(const GptNextConfig&) const = default;
};

/// A decoder in torchtitan's style: wq, wk, wv, wo, w1, w2, w3, RMSNorm as a chain of operators, an
/// untied head, rope tables made in each forward.
struct PlainConfig {
  std::int64_t vocab = 32000;
  std::int64_t dim = 768;
  std::int64_t ffn = 3072;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t kv_heads = 12;
  double theta = 500000.0;

  bool operator==(const PlainConfig&) const = default;
};

using ModelConfig =
    std::variant<Gpt2Config, OptConfig, BloomConfig, GptNeoConfig, CodegenConfig, GptJConfig,
                 BioGptConfig, GptBigCodeConfig, LlamaConfig, MixtralConfig, DeepseekV3Config,
                 T5Config, GptNextConfig, PlainConfig>;

struct ModelSpec {
  std::string name;
  std::string source;  ///< where the config is from: a hub id, a file, a paper
  ModelConfig config;

  bool operator==(const ModelSpec&) const = default;
};

/// What all families have, resolved: derived sizes filled in.
struct ModelShape {
  std::int64_t layers = 0;          ///< of T5: of the encoder
  std::int64_t decoder_layers = 0;  ///< T5 only, else 0
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;  ///< of one expert in mixtures; dense layers of DeepSeek-V3 have their own
  std::int64_t vocab = 0;
  std::optional<std::int64_t> max_positions;  ///< absent: no limit known
  std::int64_t experts = 0;                   ///< routed experts per layer, 0: no mixture
  bool tied = false;                          ///< head and token embedding are one tensor

  bool operator==(const ModelShape&) const = default;
};

ModelShape shape_of(const ModelConfig& config);

inline ModelShape shape_of(const ModelSpec& spec) {
  return shape_of(spec.config);
}

/// "gpt2", "llama", "qwen2", ...: transformers' model_type, "gpt_next" or "plain".
std::string_view family_name(const ModelConfig& config);

inline std::string_view family_name(const ModelSpec& spec) {
  return family_name(spec.config);
}

std::string_view to_string(LlamaFamily family);

/// True if positions are a table of parameters, so a longer sequence is an error in PyTorch.
bool has_position_table(const ModelConfig& config);

/// Derived sizes, where the config leaves them out.
std::int64_t kv_heads_of(const LlamaConfig& config);
std::int64_t kv_heads_of(const MixtralConfig& config);
std::int64_t head_dim_of(const LlamaConfig& config);
std::int64_t head_dim_of(const MixtralConfig& config);
std::int64_t word_embed_dim_of(const OptConfig& config);
std::int64_t inner_dim_of(const Gpt2Config& config);
std::int64_t inner_dim_of(const GptNeoConfig& config);
std::int64_t inner_dim_of(const CodegenConfig& config);
std::int64_t inner_dim_of(const GptJConfig& config);
std::int64_t inner_dim_of(const GptBigCodeConfig& config);
std::int64_t kv_heads_of(const GptBigCodeConfig& config);
std::int64_t decoder_layers_of(const T5Config& config);
GptNeoAttention attention_of(const GptNeoConfig& config, std::int64_t layer);

/// The window of `layer`, absent if it attends to everything before it.
std::optional<std::int64_t> window_of(const LlamaConfig& config, std::int64_t layer);

/// Gives every dropout probability of the model the value `probability`.
void set_dropout(ModelConfig& config, double probability);

/// The same architecture for the torchtitan-style decoder. @pre to_plain_problems() is empty
PlainConfig to_plain(const LlamaConfig& config);

/// What of `config` the torchtitan-style decoder cannot do, one sentence each.
std::vector<std::string> to_plain_problems(const LlamaConfig& config);

/// Everything that makes the config impossible to build or run, one sentence each; empty if fine.
std::vector<std::string> model_problems(const ModelSpec& spec);

}  // namespace highwater
