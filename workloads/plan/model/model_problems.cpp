// What makes a model impossible to build or run: each family lists its sizes, then the rules that
// several families share look at the resolved shape. Nothing stops at the first problem.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {
namespace {

/// Above these, sizes in bytes could leave 63 bits before anything else looks at them.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr std::int64_t kMostLayers = 2000;
constexpr std::int64_t kMostExperts = 4096;
constexpr double kMostParameters = 1e16;

class Problems {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    list_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  using Named = std::initializer_list<std::pair<std::string_view, std::int64_t>>;

  void check_sizes(Named sizes) {
    for (const auto& [name, value] : sizes) {
      if (value < 1) {
        add("{} is {}; give at least 1", name, value);
      } else if (value > kLargestSize) {
        add("{} is {}; give at most {}", name, value, kLargestSize);
      }
    }
  }

  void check_layers(std::string_view name, std::int64_t layers) {
    if (layers < 1 || layers > kMostLayers) {
      add("{} is {}; give 1 to {}", name, layers, kMostLayers);
    }
  }

  void check_probabilities(std::initializer_list<std::pair<std::string_view, double>> values) {
    for (const auto& [name, value] : values) {
      if (!(value >= 0.0 && value <= 1.0)) {
        add("{} is {}; give a probability from 0 to 1", name, value);
      }
    }
  }

  void check_divides(std::string_view part, std::int64_t n, std::string_view whole,
                     std::int64_t size) {
    if (n > 0 && size > 0 && size % n != 0) {
      add("{} ({}) does not divide {} ({}); choose a divisor", part, n, whole, size);
    }
  }

  void check_rotary(std::string_view name, std::int64_t rotary_dim, std::int64_t head_dim) {
    if (rotary_dim < 2 || rotary_dim % 2 != 0 || rotary_dim > head_dim) {
      add("{} is {}; rotary positions need an even number from 2 to the head size {}", name,
          rotary_dim, head_dim);
    }
  }

  void refuse_layerdrop(double layerdrop) {
    if (layerdrop != 0.0) {
      add("layerdrop is {}; leaving layers out at random is not supported, set it to 0", layerdrop);
    }
  }

  [[nodiscard]] std::vector<std::string> take() && { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

template <class Config>
void check_gpt(Problems& problems, const Config& c) {
  problems.check_layers("n_layer", c.n_layer);
  problems.check_sizes({{"vocab_size", c.vocab_size},
                        {"n_positions", c.n_positions},
                        {"n_embd", c.n_embd},
                        {"n_head", c.n_head},
                        {"n_inner", c.n_inner.value_or(1)}});
  problems.check_divides("n_head", c.n_head, "n_embd", c.n_embd);
  problems.check_probabilities(
      {{"resid_pdrop", c.resid_pdrop}, {"embd_pdrop", c.embd_pdrop}, {"attn_pdrop", c.attn_pdrop}});
}

void check(Problems& problems, const Gpt2Config& c) {
  check_gpt(problems, c);
}

void check(Problems& problems, const GptBigCodeConfig& c) {
  check_gpt(problems, c);
}

void check(Problems& problems, const GptJConfig& c) {
  check_gpt(problems, c);
  problems.check_rotary("rotary_dim", c.rotary_dim, shape_of(c).head_dim);
}

void check(Problems& problems, const CodegenConfig& c) {
  constexpr std::int64_t kModelParallel = 4;  // mp_num in CodeGenAttention
  check_gpt(problems, c);
  problems.check_rotary("rotary_dim", c.rotary_dim, shape_of(c).head_dim);
  if (c.n_head > 0 && c.n_head % kModelParallel != 0) {
    problems.add("n_head is {}; CodeGen needs a multiple of {}", c.n_head, kModelParallel);
  }
}

void check(Problems& problems, const OptConfig& c) {
  problems.check_layers("num_hidden_layers", c.num_hidden_layers);
  problems.check_sizes({{"vocab_size", c.vocab_size},
                        {"hidden_size", c.hidden_size},
                        {"ffn_dim", c.ffn_dim},
                        {"max_position_embeddings", c.max_position_embeddings},
                        {"word_embed_proj_dim", word_embed_dim_of(c)},
                        {"num_attention_heads", c.num_attention_heads}});
  problems.check_divides("num_attention_heads", c.num_attention_heads, "hidden_size",
                         c.hidden_size);
  problems.check_probabilities(
      {{"dropout", c.dropout}, {"attention_dropout", c.attention_dropout}});
  problems.refuse_layerdrop(c.layerdrop);
}

void check(Problems& problems, const BloomConfig& c) {
  problems.check_layers("n_layer", c.n_layer);
  problems.check_sizes(
      {{"vocab_size", c.vocab_size}, {"hidden_size", c.hidden_size}, {"n_head", c.n_head}});
  problems.check_divides("n_head", c.n_head, "hidden_size", c.hidden_size);
  problems.check_probabilities(
      {{"hidden_dropout", c.hidden_dropout}, {"attention_dropout", c.attention_dropout}});
  if (c.slow_but_exact && c.pretraining_tp > 1) {
    problems.add("slow_but_exact with pretraining_tp {} is not supported; set it to false",
                 c.pretraining_tp);
  }
}

void check(Problems& problems, const GptNeoConfig& c) {
  problems.check_layers("num_layers", c.num_layers);
  problems.check_sizes({{"vocab_size", c.vocab_size},
                        {"hidden_size", c.hidden_size},
                        {"max_position_embeddings", c.max_position_embeddings},
                        {"num_heads", c.num_heads},
                        {"intermediate_size", inner_dim_of(c)},
                        {"window_size", c.window_size}});
  problems.check_divides("num_heads", c.num_heads, "hidden_size", c.hidden_size);
  problems.check_probabilities({{"resid_dropout", c.resid_dropout},
                                {"embed_dropout", c.embed_dropout},
                                {"attention_dropout", c.attention_dropout}});
  const auto kinds = static_cast<std::int64_t>(c.attention_layers.size());
  if (kinds != 0 && kinds != c.num_layers) {
    problems.add("attention_types describe {} layers, but num_layers is {}; make them equal", kinds,
                 c.num_layers);
  }
}

void check(Problems& problems, const BioGptConfig& c) {
  problems.check_layers("num_hidden_layers", c.num_hidden_layers);
  problems.check_sizes({{"vocab_size", c.vocab_size},
                        {"hidden_size", c.hidden_size},
                        {"intermediate_size", c.intermediate_size},
                        {"max_position_embeddings", c.max_position_embeddings},
                        {"num_attention_heads", c.num_attention_heads}});
  problems.check_divides("num_attention_heads", c.num_attention_heads, "hidden_size",
                         c.hidden_size);
  problems.check_probabilities({{"hidden_dropout_prob", c.hidden_dropout_prob},
                                {"attention_probs_dropout_prob", c.attention_probs_dropout_prob},
                                {"activation_dropout", c.activation_dropout}});
  problems.refuse_layerdrop(c.layerdrop);
}

/// What LLaMA's relatives and mixtures have in common. An explicit head_dim frees hidden_size from
/// the heads, except in LLaMA itself, whose config class refuses it.
template <class Config>
void check_rope_decoder(Problems& problems, const Config& c, bool heads_divide_hidden) {
  problems.check_layers("num_hidden_layers", c.num_hidden_layers);
  problems.check_sizes({{"vocab_size", c.vocab_size},
                        {"hidden_size", c.hidden_size},
                        {"intermediate_size", c.intermediate_size},
                        {"max_position_embeddings", c.max_position_embeddings},
                        {"num_attention_heads", c.num_attention_heads},
                        {"num_key_value_heads", kv_heads_of(c)},
                        {"head_dim", c.head_dim.value_or(1)}});
  if (heads_divide_hidden || !c.head_dim) {
    problems.check_divides("num_attention_heads", c.num_attention_heads, "hidden_size",
                           c.hidden_size);
  }
  problems.check_divides("num_key_value_heads", kv_heads_of(c), "num_attention_heads",
                         c.num_attention_heads);
  problems.check_rotary("head_dim", head_dim_of(c), head_dim_of(c));
  problems.check_probabilities({{"attention_dropout", c.attention_dropout}});
  if (c.sliding_window && *c.sliding_window < 1) {
    problems.add("sliding_window is {}; give at least 1, or null for none", *c.sliding_window);
  }
}

void check(Problems& problems, const LlamaConfig& c) {
  check_rope_decoder(problems, c, c.family == LlamaFamily::llama);
  const auto types = static_cast<std::int64_t>(c.sliding_layers.size());
  if (types != 0 && types != c.num_hidden_layers) {
    problems.add("layer_types describe {} layers, but num_hidden_layers is {}; make them equal",
                 types, c.num_hidden_layers);
  }
}

void check_top_k(Problems& problems, std::int64_t chosen, std::int64_t experts) {
  if (experts > kMostExperts) {
    problems.add("{} experts are more than the {} that can be simulated", experts, kMostExperts);
  }
  if (chosen > experts) {
    problems.add("num_experts_per_tok is {}, but there are only {} experts", chosen, experts);
  }
}

void check(Problems& problems, const MixtralConfig& c) {
  check_rope_decoder(problems, c, false);
  problems.check_sizes(
      {{"num_local_experts", c.num_local_experts}, {"num_experts_per_tok", c.num_experts_per_tok}});
  check_top_k(problems, c.num_experts_per_tok, c.num_local_experts);
  if (c.router_jitter_noise != 0.0) {
    problems.add("router_jitter_noise is {}; jitter is not supported, set it to 0",
                 c.router_jitter_noise);
  }
  if (c.output_router_logits) {
    problems.add(
        "output_router_logits is true; the balancing loss is not supported, set it to false");
  }
}

void check(Problems& problems, const DeepseekV3Config& c) {
  problems.check_layers("num_hidden_layers", c.num_hidden_layers);
  problems.check_sizes({{"vocab_size", c.vocab_size},
                        {"hidden_size", c.hidden_size},
                        {"intermediate_size", c.intermediate_size},
                        {"moe_intermediate_size", c.moe_intermediate_size},
                        {"num_attention_heads", c.num_attention_heads},
                        {"n_routed_experts", c.n_routed_experts},
                        {"n_shared_experts", c.n_shared_experts},
                        {"num_experts_per_tok", c.num_experts_per_tok},
                        {"q_lora_rank", c.q_lora_rank.value_or(1)},
                        {"kv_lora_rank", c.kv_lora_rank},
                        {"qk_nope_head_dim", c.qk_nope_head_dim},
                        {"v_head_dim", c.v_head_dim},
                        {"n_group", c.n_group},
                        {"topk_group", c.topk_group},
                        {"max_position_embeddings", c.max_position_embeddings}});
  problems.check_rotary("qk_rope_head_dim", c.qk_rope_head_dim, c.qk_rope_head_dim);
  problems.check_probabilities({{"attention_dropout", c.attention_dropout}});
  problems.check_divides("n_group", c.n_group, "n_routed_experts", c.n_routed_experts);
  check_top_k(problems, c.num_experts_per_tok, c.n_routed_experts);
  if (c.topk_group > c.n_group) {
    problems.add("topk_group is {}, but n_group is only {}", c.topk_group, c.n_group);
  }
  if (c.first_k_dense_replace < 0 || c.first_k_dense_replace > c.num_hidden_layers) {
    problems.add("first_k_dense_replace is {}; give 0 to num_hidden_layers ({})",
                 c.first_k_dense_replace, c.num_hidden_layers);
  }
}

void check(Problems& problems, const T5Config& c) {
  problems.check_layers("num_layers", c.num_layers);
  problems.check_layers("num_decoder_layers", decoder_layers_of(c));
  problems.check_sizes({{"vocab_size", c.vocab_size},
                        {"d_model", c.d_model},
                        {"d_kv", c.d_kv},
                        {"d_ff", c.d_ff},
                        {"num_heads", c.num_heads},
                        {"relative_attention_num_buckets", c.relative_attention_num_buckets}});
  problems.check_probabilities({{"dropout_rate", c.dropout_rate}});
}

void check(Problems& problems, const GptNextConfig& c) {
  problems.check_layers("num_layers", c.num_layers);
  problems.check_sizes({{"vocab_size", c.vocab_size},
                        {"hidden_size", c.hidden_size},
                        {"ffn_hidden_size", c.ffn_hidden_size},
                        {"num_attention_heads", c.num_attention_heads}});
  problems.check_divides("num_attention_heads", c.num_attention_heads, "hidden_size",
                         c.hidden_size);
  problems.check_probabilities(
      {{"attention_dropout", c.attention_dropout}, {"hidden_dropout", c.hidden_dropout}});
}

void check(Problems& problems, const PlainConfig& c) {
  problems.check_layers("layers", c.layers);
  problems.check_sizes({{"vocab", c.vocab},
                        {"dim", c.dim},
                        {"ffn", c.ffn},
                        {"heads", c.heads},
                        {"kv_heads", c.kv_heads}});
  problems.check_divides("heads", c.heads, "dim", c.dim);
  problems.check_divides("kv_heads", c.kv_heads, "heads", c.heads);
  problems.check_rotary("dim / heads", shape_of(c).head_dim, shape_of(c).head_dim);
}

/// So roughly that it only has to be right within a factor of ten, in doubles that cannot overflow.
double rough_parameters(const ModelShape& shape) {
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const double mlp =
      3.0 * real(shape.hidden) * real(shape.ffn) * std::max(1.0, real(shape.experts));
  const double attention = 4.0 * real(shape.hidden) *
                           std::max(real(shape.hidden), real(shape.heads) * real(shape.head_dim));
  return real(shape.layers + 2 * shape.decoder_layers) * (mlp + attention) +
         2.0 * real(shape.vocab) * real(shape.hidden);
}

}  // namespace

std::vector<std::string> model_problems(const ModelSpec& spec) {
  Problems problems;
  std::visit([&](const auto& config) { check(problems, config); }, spec.config);
  if (const double parameters = rough_parameters(shape_of(spec)); parameters > kMostParameters) {
    problems.add("the model would have about {:.0e} parameters; the most is {:.0e}", parameters,
                 kMostParameters);
  }
  return std::move(problems).take();
}

std::vector<std::string> to_plain_problems(const LlamaConfig& config) {
  Problems problems;
  if (config.family != LlamaFamily::llama) {
    problems.add("torchtitan's decoder is a LLaMA, this model is of family {}; use --model-code hf",
                 to_string(config.family));
  }
  if (config.tie_word_embeddings) {
    problems.add(
        "torchtitan's decoder has an untied head, this model a tied one; "
        "use --model-code hf");
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

}  // namespace highwater
