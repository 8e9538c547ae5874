#include "workloads/sources/programs/megatron/megatron_decoder.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "workloads/sources/programs/megatron/layer_pattern.hpp"
#include "workloads/sources/programs/megatron/megatron_values.hpp"

namespace highwater::program_table::megatron_keys {
namespace {

bool is_gated(const SettingList& all) {
  return all.is_on("swiglu") || all.is_on("gated_linear_unit") ||
         says(all, "activation_func", "swiglu") || says(all, "activation", "fast-swiglu") ||
         says(all, "activation", "swiglu");
}

bool has_rotary(const SettingList& all) {
  return all.is_on("use_rotary_position_embeddings") ||
         says(all, "position_embedding_type", "rope") ||
         says(all, "position_embedding_type", "yarn");
}

bool has_biases(const SettingList& all) {
  return !all.is_on("disable_bias_linear") && !says(all, "add_bias_linear", "false") &&
         !says(all, "bias", "false");
}

/// On a launch line the groups count with --group-query-attention only.
std::int64_t query_groups(const SettingList& all) {
  return says(all, "group_query_attention", "false") ? 0 : whole_or(all, "num_query_groups", 0);
}

/// validate_args: 4 h, or 8/3 h to a multiple of 64 where the MLP is gated.
std::int64_t default_ffn(std::int64_t hidden, bool is_gated_mlp) {
  constexpr std::int64_t kMultiple = 64;
  return is_gated_mlp ? hidden * 8 / 3 / kMultiple * kMultiple : 4 * hidden;
}

std::int64_t ffn_of(const SettingList& all, std::int64_t hidden) {
  const std::int64_t ffn = whole_or(all, "ffn_hidden_size", default_ffn(hidden, is_gated(all)));
  return all.whole("num_experts") || all.whole("num_moe_experts")
             ? whole_or(all, "moe_ffn_hidden_size", ffn)
             : ffn;
}

bool is_tied(const SettingList& all) {
  return !all.is_on("untie_embeddings_and_output_weights") &&
         !says(all, "share_embeddings_and_output_weights", "false");
}

struct KnownTokenizer {
  std::string_view part;  ///< of its type or of its file's name, in lower case
  std::int64_t words;
};

/// Sizes in the tokenizers' own files, as the models' config.json have them.
constexpr std::array kTokenizers{
    KnownTokenizer{"gpt2", 50257},
    KnownTokenizer{"llama-3", 128256},
    KnownTokenizer{"llama3", 128256},
    KnownTokenizer{"llama2", 32000},
    KnownTokenizer{"llama-2", 32000},
    KnownTokenizer{"mixtral", 32000},
    KnownTokenizer{"llama_tokenizer.model", 32000},
    KnownTokenizer{"mistral-7b", 32000},
    KnownTokenizer{"deepseek-v3", 129280},
    KnownTokenizer{"deepseek-r1", 129280},
    KnownTokenizer{"qwen2.5-0.5b", 151936},
    KnownTokenizer{"qwen2.5-1.5b", 151936},
    KnownTokenizer{"qwen2.5-3b", 151936},
    KnownTokenizer{"qwen2.5", 152064},
    KnownTokenizer{"qwen3", 151936},
};

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::optional<std::int64_t> words_of(const std::string& name) {
  const auto* const known = std::ranges::find_if(kTokenizers, [&](const KnownTokenizer& row) {
    return name.find(row.part) != std::string::npos;
  });
  return known == kTokenizers.end() ? std::nullopt : std::optional(known->words);
}

/// Files of words and merges without a type are GPT-2's.
bool has_gpt2_files(const SettingList& all) {
  return !all.text("tokenizer_type") && all.text("vocab_file") && all.text("merge_file");
}

struct ForeignPart {
  std::string_view key;
  std::string_view what;
};

constexpr std::array kForeignParts{
    ForeignPart{"qk_l2_norm", "L2 norms of queries and keys"},
    ForeignPart{"is_hybrid_model", "layers of Mamba"},
    ForeignPart{"hybrid_layer_pattern", "layers of Mamba"},
    ForeignPart{"hybrid_override_pattern", "layers of Mamba"},
    ForeignPart{"hybrid_attention_ratio", "layers of Mamba"},
    ForeignPart{"experimental_attention_variant", "an attention of its own"},
    ForeignPart{"moe_shared_expert_gate", "a gate of the shared expert"},
    ForeignPart{"moe_latent_size", "experts in a narrower space"},
    ForeignPart{"heterogeneous_layers_config_path", "layers of different sizes"},
    ForeignPart{"retro_add_retriever", "RETRO's retriever"},
    ForeignPart{"squared_relu", "squared ReLU"},
    ForeignPart{"quick_geglu", "a quick gated GELU"},
    ForeignPart{"decoder_num_layers", "an encoder alongside the decoder"},
    ForeignPart{"decoder_seq_length", "an encoder alongside the decoder"},
    ForeignPart{"img_h", "images"},
};

DecoderFacts plain_decoder(const SettingList& all, std::int64_t hidden) {
  return {.layers = whole_or(all, "num_layers", whole_or(all, "encoder_num_layers", 0)),
          .hidden = hidden,
          .heads = whole_or(all, "num_attention_heads", 0),
          .kv_heads = query_groups(all),
          .head_dim = whole_or(all, "kv_channels", 0),
          .ffn = ffn_of(all, hidden),
          .vocab = 0,
          .positions = whole_or(all, "max_position_embeddings", 0),
          .experts = whole_or(all, "num_experts", whole_or(all, "num_moe_experts", 0)),
          .top_k = whole_or(all, "moe_router_topk", 2),
          .is_gated = is_gated(all),
          .has_rms_norm = says(all, "normalization", "RMSNorm"),
          .has_rotary = has_rotary(all),
          .has_biases = has_biases(all),
          .has_qkv_biases = all.is_on("add_qkv_bias") || all.is_on("qkv_bias"),
          .is_tied = is_tied(all)};
}

/// MLATransformerConfig's defaults.
std::optional<megatron::LatentAttention> latent_attention(const SettingList& all) {
  if (!all.is_on("multi_latent_attention")) {
    return std::nullopt;
  }
  constexpr std::int64_t kRank = 512;
  constexpr std::int64_t kHead = 128;
  constexpr std::int64_t kPositions = 64;
  return megatron::LatentAttention{.query_rank = whole_or(all, "q_lora_rank", 0),
                                   .rank = whole_or(all, "kv_lora_rank", kRank),
                                   .plain_dim = whole_or(all, "qk_head_dim", kHead),
                                   .rotary_dim = whole_or(all, "qk_pos_emb_head_dim", kPositions),
                                   .value_dim = whole_or(all, "v_head_dim", kHead)};
}

megatron::RouterConfig router_of(const SettingList& all) {
  megatron::RouterConfig router{.groups = whole_or(all, "moe_router_num_groups", 1),
                                .chosen_groups = whole_or(all, "moe_router_group_topk", 1),
                                .scales = is_set(all, "moe_router_topk_scaling_factor")};
  if (says(all, "moe_router_score_function", "sigmoid")) {
    router.scores = megatron::RouterScores::sigmoid;
  } else if (all.is_on("moe_router_pre_softmax")) {
    router.scores = megatron::RouterScores::softmax_of_all;
  }
  return router;
}

}  // namespace

DecoderFacts decoder_of(const SettingList& all) {
  const std::int64_t hidden = whole_or(all, "hidden_size", 0);
  DecoderFacts facts = plain_decoder(all, hidden);
  facts.has_qk_norm = all.is_on("qk_layernorm");
  facts.latent = latent_attention(all);
  if (facts.experts > 0) {
    facts.router = router_of(all);
    facts.shared_ffn = whole_or(all, "moe_shared_expert_intermediate_size", 0);
    facts.dense_layers = dense_layers(all.text("moe_layer_freq").value_or("1")).value_or(0);
    facts.dense_ffn = whole_or(all, "ffn_hidden_size", default_ffn(hidden, is_gated(all)));
  }
  return facts;
}

std::string foreign_part(const SettingList& all) {
  const std::string activation = all.text("activation").value_or("gelu");
  if (activation != "gelu" && !activation.ends_with("swiglu")) {
    return activation;
  }
  for (const ForeignPart& row : kForeignParts) {
    if (is_set(all, row.key)) {
      return std::string(row.what);
    }
  }
  return "";
}

std::optional<std::int64_t> vocabulary_of(const SettingList& all, const DecoderFacts& facts) {
  for (const std::string_view key :
       std::array<std::string_view, 3>{"padded_vocab_size", "vocab_size", "override_vocab_size"}) {
    if (const auto words = all.whole(key)) {
      // training/tokenizer: NullTokenizer adds a word, the end of a document.
      const bool adds_end = key == "vocab_size" && says(all, "tokenizer_type", "NullTokenizer");
      return *words + (adds_end ? 1 : 0);
    }
  }
  if (has_gpt2_files(all)) {
    return words_of("gpt2");
  }
  for (const std::string_view key :
       std::array<std::string_view, 5>{"tokenizer_model", "hf_model_path", "tokenizer_type",
                                       "tokenizer.model", "tokenizer.type"}) {
    if (const auto words = words_of(in_lower_case(all.text(key).value_or("")))) {
      return words;
    }
  }
  return known_vocabulary(facts);
}

}  // namespace highwater::program_table::megatron_keys
