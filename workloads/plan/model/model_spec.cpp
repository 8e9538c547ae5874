#include "workloads/plan/model/model_spec.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "workloads/plan/model/overloaded.hpp"

namespace highwater {
namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 6> kActivations{{
    {"relu", Activation::relu},
    {"gelu", Activation::gelu},
    {"gelu_new", Activation::gelu_new},
    {"gelu_pytorch_tanh", Activation::gelu_pytorch_tanh},
    {"silu", Activation::silu},
    {"swish", Activation::silu},
}};

/// 0 where a bad config would divide by 0; model_problems() reports it.
constexpr std::int64_t divide(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : a / b;
}

/// The shape of a decoder with as many key-value heads as heads.
ModelShape multi_head(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                      std::int64_t ffn, std::int64_t vocab) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = divide(hidden, heads),
          .ffn = ffn,
          .vocab = vocab};
}

/// GPT-2, CodeGen, GPT-J and GPTBigCode name their fields alike.
template <class Config>
ModelShape shape_of_gpt(const Config& config) {
  ModelShape shape = multi_head(config.n_layer, config.n_embd, config.n_head, inner_dim_of(config),
                                config.vocab_size);
  shape.max_positions = config.n_positions;
  shape.tied = config.tie_word_embeddings;
  return shape;
}

template <class Config>
ModelShape shape_of_rope_decoder(const Config& config) {
  return {.layers = config.num_hidden_layers,
          .hidden = config.hidden_size,
          .heads = config.num_attention_heads,
          .kv_heads = kv_heads_of(config),
          .head_dim = head_dim_of(config),
          .ffn = config.intermediate_size,
          .vocab = config.vocab_size,
          .max_positions = config.max_position_embeddings,
          .tied = config.tie_word_embeddings};
}

struct ShapeOf {
  ModelShape operator()(const Gpt2Config& config) const { return shape_of_gpt(config); }

  ModelShape operator()(const CodegenConfig& config) const { return shape_of_gpt(config); }

  ModelShape operator()(const GptJConfig& config) const { return shape_of_gpt(config); }

  ModelShape operator()(const GptBigCodeConfig& config) const {
    ModelShape shape = shape_of_gpt(config);
    shape.kv_heads = kv_heads_of(config);
    return shape;
  }

  ModelShape operator()(const OptConfig& config) const {
    ModelShape shape = multi_head(config.num_hidden_layers, config.hidden_size,
                                  config.num_attention_heads, config.ffn_dim, config.vocab_size);
    shape.max_positions = config.max_position_embeddings;
    shape.tied = config.tie_word_embeddings;
    return shape;
  }

  ModelShape operator()(const BloomConfig& config) const {
    ModelShape shape = multi_head(config.n_layer, config.hidden_size, config.n_head,
                                  4 * config.hidden_size, config.vocab_size);
    shape.tied = config.tie_word_embeddings;
    return shape;
  }

  ModelShape operator()(const GptNeoConfig& config) const {
    ModelShape shape = multi_head(config.num_layers, config.hidden_size, config.num_heads,
                                  inner_dim_of(config), config.vocab_size);
    shape.max_positions = config.max_position_embeddings;
    shape.tied = config.tie_word_embeddings;
    return shape;
  }

  ModelShape operator()(const BioGptConfig& config) const {
    ModelShape shape =
        multi_head(config.num_hidden_layers, config.hidden_size, config.num_attention_heads,
                   config.intermediate_size, config.vocab_size);
    shape.max_positions = config.max_position_embeddings;
    shape.tied = config.tie_word_embeddings;
    return shape;
  }

  ModelShape operator()(const LlamaConfig& config) const { return shape_of_rope_decoder(config); }

  ModelShape operator()(const MixtralConfig& config) const {
    ModelShape shape = shape_of_rope_decoder(config);
    shape.experts = config.num_local_experts;
    return shape;
  }

  ModelShape operator()(const DeepseekV3Config& config) const {
    return {.layers = config.num_hidden_layers,
            .hidden = config.hidden_size,
            .heads = config.num_attention_heads,
            .kv_heads = config.num_key_value_heads.value_or(config.num_attention_heads),
            .head_dim = config.qk_nope_head_dim + config.qk_rope_head_dim,
            .ffn = config.moe_intermediate_size,
            .vocab = config.vocab_size,
            .max_positions = config.max_position_embeddings,
            .experts = config.n_routed_experts,
            .tied = config.tie_word_embeddings};
  }

  ModelShape operator()(const T5Config& config) const {
    return {.layers = config.num_layers,
            .decoder_layers = decoder_layers_of(config),
            .hidden = config.d_model,
            .heads = config.num_heads,
            .kv_heads = config.num_heads,
            .head_dim = config.d_kv,
            .ffn = config.d_ff,
            .vocab = config.vocab_size,
            .tied = true};
  }

  ModelShape operator()(const GptNextConfig& config) const {
    return multi_head(config.num_layers, config.hidden_size, config.num_attention_heads,
                      config.ffn_hidden_size, config.vocab_size);
  }

  ModelShape operator()(const PlainConfig& config) const {
    ModelShape shape =
        multi_head(config.layers, config.dim, config.heads, config.ffn, config.vocab);
    shape.kv_heads = config.kv_heads;
    return shape;
  }
};

}  // namespace

std::string_view to_string(Activation activation) {
  return std::ranges::find(kActivations, activation,
                           &std::pair<std::string_view, Activation>::second)
      ->first;
}

std::optional<Activation> parse_activation(std::string_view name) {
  const auto* const found =
      std::ranges::find(kActivations, name, &std::pair<std::string_view, Activation>::first);
  return found == kActivations.end() ? std::nullopt : std::optional(found->second);
}

LlamaConfig llama_defaults(LlamaFamily family) {
  switch (family) {
    case LlamaFamily::llama:
      return {};
    case LlamaFamily::mistral:
      return {.family = family,
              .intermediate_size = 14336,
              .num_key_value_heads = 8,
              .max_position_embeddings = 131072,
              .sliding_window = 4096};
    case LlamaFamily::qwen2:
    case LlamaFamily::qwen3: {
      LlamaConfig config{.family = family,
                         .vocab_size = 151936,
                         .intermediate_size = 22016,
                         .num_key_value_heads = 32,
                         .max_position_embeddings = 32768,
                         .sliding_window = 4096};
      if (family == LlamaFamily::qwen3) {
        config.head_dim = 128;
      }
      return config;
    }
    case LlamaFamily::gemma:
      return {.family = family,
              .vocab_size = 256000,
              .hidden_size = 3072,
              .intermediate_size = 24576,
              .num_hidden_layers = 28,
              .num_attention_heads = 16,
              .num_key_value_heads = 16,
              .head_dim = 256,
              .hidden_act = Activation::gelu_pytorch_tanh,
              .max_position_embeddings = 8192,
              .pad_token_id = 0,
              .tie_word_embeddings = true};
  }
  return {};
}

ModelShape shape_of(const ModelConfig& config) {
  return std::visit(ShapeOf{}, config);
}

std::string_view to_string(LlamaFamily family) {
  switch (family) {
    case LlamaFamily::llama:
      return "llama";
    case LlamaFamily::mistral:
      return "mistral";
    case LlamaFamily::qwen2:
      return "qwen2";
    case LlamaFamily::qwen3:
      return "qwen3";
    case LlamaFamily::gemma:
      return "gemma";
  }
  return "";
}

std::string_view family_name(const ModelConfig& config) {
  using Name = std::string_view;
  return std::visit(Overloaded{[](const Gpt2Config&) { return Name("gpt2"); },
                               [](const OptConfig&) { return Name("opt"); },
                               [](const BloomConfig&) { return Name("bloom"); },
                               [](const GptNeoConfig&) { return Name("gpt_neo"); },
                               [](const CodegenConfig&) { return Name("codegen"); },
                               [](const GptJConfig&) { return Name("gptj"); },
                               [](const BioGptConfig&) { return Name("biogpt"); },
                               [](const GptBigCodeConfig&) { return Name("gpt_bigcode"); },
                               [](const LlamaConfig& llama) { return to_string(llama.family); },
                               [](const MixtralConfig&) { return Name("mixtral"); },
                               [](const DeepseekV3Config&) { return Name("deepseek_v3"); },
                               [](const T5Config&) { return Name("t5"); },
                               [](const GptNextConfig&) { return Name("gpt_next"); },
                               [](const PlainConfig&) { return Name("plain"); }},
                    config);
}

bool has_position_table(const ModelConfig& config) {
  return std::holds_alternative<Gpt2Config>(config) || std::holds_alternative<OptConfig>(config) ||
         std::holds_alternative<GptNeoConfig>(config) ||
         std::holds_alternative<BioGptConfig>(config) ||
         std::holds_alternative<GptBigCodeConfig>(config);
}

std::int64_t kv_heads_of(const LlamaConfig& config) {
  return config.num_key_value_heads.value_or(config.num_attention_heads);
}

std::int64_t kv_heads_of(const MixtralConfig& config) {
  return config.num_key_value_heads.value_or(config.num_attention_heads);
}

std::int64_t kv_heads_of(const GptBigCodeConfig& config) {
  return config.multi_query ? 1 : config.n_head;
}

std::int64_t head_dim_of(const LlamaConfig& config) {
  return config.head_dim.value_or(divide(config.hidden_size, config.num_attention_heads));
}

std::int64_t head_dim_of(const MixtralConfig& config) {
  return config.head_dim.value_or(divide(config.hidden_size, config.num_attention_heads));
}

std::int64_t word_embed_dim_of(const OptConfig& config) {
  return config.word_embed_proj_dim.value_or(config.hidden_size);
}

std::int64_t inner_dim_of(const Gpt2Config& config) {
  return config.n_inner.value_or(4 * config.n_embd);
}

std::int64_t inner_dim_of(const GptNeoConfig& config) {
  return config.intermediate_size.value_or(4 * config.hidden_size);
}

std::int64_t inner_dim_of(const CodegenConfig& config) {
  return config.n_inner.value_or(4 * config.n_embd);
}

std::int64_t inner_dim_of(const GptJConfig& config) {
  return config.n_inner.value_or(4 * config.n_embd);
}

std::int64_t inner_dim_of(const GptBigCodeConfig& config) {
  return config.n_inner.value_or(4 * config.n_embd);
}

std::int64_t decoder_layers_of(const T5Config& config) {
  return config.num_decoder_layers.value_or(config.num_layers);
}

GptNeoAttention attention_of(const GptNeoConfig& config, std::int64_t layer) {
  if (config.attention_layers.empty()) {
    return layer % 2 == 0 ? GptNeoAttention::global : GptNeoAttention::local;
  }
  return config.attention_layers[static_cast<std::size_t>(layer)];
}

std::optional<std::int64_t> window_of(const LlamaConfig& config, std::int64_t layer) {
  switch (config.family) {
    case LlamaFamily::llama:
    case LlamaFamily::gemma:
      return std::nullopt;
    case LlamaFamily::mistral:
      return config.sliding_window;
    case LlamaFamily::qwen2:
    case LlamaFamily::qwen3:
      break;
  }
  const bool slides = config.sliding_layers.empty()
                          ? layer >= config.max_window_layers
                          : config.sliding_layers[static_cast<std::size_t>(layer)];
  return config.use_sliding_window && slides ? config.sliding_window : std::nullopt;
}

void set_dropout(ModelConfig& config, double probability) {
  const auto set = [probability](auto&... fields) { ((fields = probability), ...); };
  std::visit(
      Overloaded{
          [&](Gpt2Config& c) { set(c.resid_pdrop, c.embd_pdrop, c.attn_pdrop); },
          [&](OptConfig& c) { set(c.dropout, c.attention_dropout); },
          [&](BloomConfig& c) { set(c.hidden_dropout, c.attention_dropout); },
          [&](GptNeoConfig& c) { set(c.resid_dropout, c.embed_dropout, c.attention_dropout); },
          [&](CodegenConfig& c) { set(c.resid_pdrop, c.embd_pdrop, c.attn_pdrop); },
          [&](GptJConfig& c) { set(c.resid_pdrop, c.embd_pdrop, c.attn_pdrop); },
          [&](BioGptConfig& c) { set(c.hidden_dropout_prob, c.attention_probs_dropout_prob); },
          [&](GptBigCodeConfig& c) { set(c.resid_pdrop, c.embd_pdrop, c.attn_pdrop); },
          [&](LlamaConfig& c) { set(c.attention_dropout); },
          [&](MixtralConfig& c) { set(c.attention_dropout); },
          [&](DeepseekV3Config& c) { set(c.attention_dropout); },
          [&](T5Config& c) { set(c.dropout_rate); },
          [&](GptNextConfig& c) { set(c.attention_dropout, c.hidden_dropout); },
          [](PlainConfig&) {}},
      config);
}

PlainConfig to_plain(const LlamaConfig& config) {
  return {.vocab = config.vocab_size,
          .dim = config.hidden_size,
          .ffn = config.intermediate_size,
          .layers = config.num_hidden_layers,
          .heads = config.num_attention_heads,
          .kv_heads = kv_heads_of(config),
          .theta = config.rope_parameters.rope_theta};
}

}  // namespace highwater
