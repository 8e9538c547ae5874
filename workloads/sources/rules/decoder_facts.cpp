#include "workloads/sources/rules/decoder_facts.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/presets.hpp"

namespace highwater::program_table {
namespace {

namespace json = boost::json;

bool is_classic_gpt(const DecoderFacts& facts) {
  return !facts.is_gated && !facts.has_rms_norm && !facts.has_rotary && facts.has_biases &&
         facts.experts == 0 && (facts.kv_heads == 0 || facts.kv_heads == facts.heads);
}

bool is_llama_like(const DecoderFacts& facts) {
  return facts.is_gated && facts.has_rms_norm && facts.has_rotary && !facts.has_biases;
}

bool is_gpt_next(const DecoderFacts& facts) {
  return facts.is_gated && !facts.has_rms_norm && facts.has_rotary && !facts.has_biases &&
         !facts.has_qkv_biases && !facts.is_tied && facts.experts == 0 &&
         (facts.kv_heads == 0 || facts.kv_heads == facts.heads);
}

json::object gpt2_config(const DecoderFacts& facts) {
  json::object config{{"model_type", "gpt2"},      {"n_embd", facts.hidden},
                      {"n_layer", facts.layers},   {"n_head", facts.heads},
                      {"vocab_size", facts.vocab}, {"tie_word_embeddings", facts.is_tied}};
  if (facts.ffn != 4 * facts.hidden) {
    config["n_inner"] = facts.ffn;
  }
  if (facts.positions > 0) {
    config["n_positions"] = facts.positions;
  }
  return config;
}

json::object gpt_next_config(const DecoderFacts& facts) {
  return {{"model_type", "gpt_next"},           {"hidden_size", facts.hidden},
          {"ffn_hidden_size", facts.ffn},       {"num_layers", facts.layers},
          {"num_attention_heads", facts.heads}, {"vocab_size", facts.vocab}};
}

std::string_view decoder_family(const DecoderFacts& facts) {
  if (facts.experts > 0) {
    return facts.has_qk_norm ? "qwen3_moe" : "mixtral";
  }
  if (facts.has_qk_norm) {
    return "qwen3";
  }
  return facts.has_qkv_biases ? "qwen2" : "llama";
}

json::object llama_config(const DecoderFacts& facts) {
  json::object config{{"model_type", decoder_family(facts)},
                      {"hidden_size", facts.hidden},
                      {"intermediate_size", facts.ffn},
                      {"num_hidden_layers", facts.layers},
                      {"num_attention_heads", facts.heads},
                      {"num_key_value_heads", facts.kv_heads == 0 ? facts.heads : facts.kv_heads},
                      {"vocab_size", facts.vocab},
                      {"tie_word_embeddings", facts.is_tied}};
  if (facts.positions > 0) {
    config["max_position_embeddings"] = facts.positions;
  }
  const std::int64_t head_dim =
      facts.head_dim > 0 ? facts.head_dim : facts.hidden / std::max<std::int64_t>(facts.heads, 1);
  if (facts.has_qk_norm || head_dim * facts.heads != facts.hidden) {
    config["head_dim"] = head_dim;  // Qwen3's own default is 128
  }
  if (facts.experts > 0) {
    config[facts.has_qk_norm ? "num_experts" : "num_local_experts"] = facts.experts;
    config["num_experts_per_tok"] = facts.top_k;
  }
  if (facts.experts > 0 && facts.has_qk_norm) {
    config["moe_intermediate_size"] = facts.ffn;
    config["norm_topk_prob"] = facts.router.scores == megatron::RouterScores::softmax_of_chosen;
  }
  return config;
}

/// DeepSeek's decoder, or Youtu's, which has its attention and no mixtures.
json::object latent_config(const DecoderFacts& facts) {
  const megatron::LatentAttention& latent = *facts.latent;
  json::object config{{"model_type", "youtu"},
                      {"hidden_size", facts.hidden},
                      {"intermediate_size", facts.experts > 0 ? facts.dense_ffn : facts.ffn},
                      {"num_hidden_layers", facts.layers},
                      {"num_attention_heads", facts.heads},
                      {"num_key_value_heads", facts.heads},
                      {"vocab_size", facts.vocab},
                      {"kv_lora_rank", latent.rank},
                      {"qk_nope_head_dim", latent.plain_dim},
                      {"qk_rope_head_dim", latent.rotary_dim},
                      {"v_head_dim", latent.value_dim},
                      {"tie_word_embeddings", facts.is_tied}};
  config["q_lora_rank"] =
      latent.query_rank > 0 ? json::value(latent.query_rank) : json::value(nullptr);
  if (facts.experts == 0) {
    return config;
  }
  const bool is_sigmoid = facts.router.scores == megatron::RouterScores::sigmoid;
  config["model_type"] = is_sigmoid ? "deepseek_v3" : "deepseek_v2";
  config["moe_intermediate_size"] = facts.ffn;
  config["n_routed_experts"] = facts.experts;
  config["n_shared_experts"] = facts.shared_ffn / facts.ffn;
  config["num_experts_per_tok"] = facts.top_k;
  config["first_k_dense_replace"] = facts.dense_layers;
  config["n_group"] = facts.router.groups;
  config["topk_group"] = facts.router.chosen_groups;
  if (!is_sigmoid) {
    config["topk_method"] = facts.router.groups > 1 ? "group_limited_greedy" : "greedy";
  }
  return config;
}

/// Whether DeepSeek's decoder has these parts.
bool is_latent_decoder(const DecoderFacts& facts) {
  const bool has_mixture = facts.experts > 0;
  return is_llama_like(facts) && !facts.has_qkv_biases && facts.has_qk_norm &&
         (!has_mixture || (facts.router.scores != megatron::RouterScores::softmax_of_chosen &&
                           facts.ffn > 0 && facts.shared_ffn % facts.ffn == 0));
}

/// Whether a decoder of Llama's kind has what only DeepSeek's has here.
bool has_parts_of_deepseek(const DecoderFacts& facts) {
  return facts.shared_ffn > 0 || facts.dense_layers > 0 ||
         (facts.experts > 0 && facts.router.scores == megatron::RouterScores::sigmoid);
}

std::optional<json::object> config_of(const DecoderFacts& facts) {
  if (is_classic_gpt(facts)) {
    return gpt2_config(facts);
  }
  if (is_gpt_next(facts)) {
    return gpt_next_config(facts);
  }
  if (facts.latent) {
    return is_latent_decoder(facts) ? std::optional(latent_config(facts)) : std::nullopt;
  }
  const bool has_biases_beside = facts.has_qkv_biases && (facts.experts > 0 || facts.has_qk_norm);
  if (is_llama_like(facts) && !has_biases_beside && !has_parts_of_deepseek(facts)) {
    return llama_config(facts);
  }
  return std::nullopt;
}

/// The rotary embedding has no table of positions: more of them make no other model.
bool is_same_model(const ModelSpec& a, const ModelSpec& b) {
  ModelShape first = shape_of(a);
  ModelShape second = shape_of(b);
  if (family_name(a) != "gpt2" && first.max_positions <= second.max_positions) {
    first.max_positions = second.max_positions;
  }
  return family_name(a) == family_name(b) && first == second;
}

/// A known name says the same in one word.
std::string preset_or_text(const json::object& config) {
  const std::string text = json::serialize(config);
  if (config.contains("kv_lora_rank") || config.contains("norm_topk_prob")) {
    return text;  // sizes do not tell routers apart
  }
  const ModelSpec spec = model_from_text(text, "the sizes given");
  const auto preset = std::ranges::find_if(
      model_presets(), [&](const ModelSpec& known) { return is_same_model(spec, known); });
  return preset == model_presets().end() ? text : preset->name;
}

bool has_sizes(const ModelShape& shape, const DecoderFacts& facts) {
  const std::int64_t kv_heads = facts.kv_heads == 0 ? facts.heads : facts.kv_heads;
  return shape.layers == facts.layers && shape.hidden == facts.hidden &&
         shape.heads == facts.heads && shape.kv_heads == kv_heads && shape.ffn == facts.ffn &&
         shape.experts == facts.experts;
}

}  // namespace

std::optional<std::string> decoder_word(const DecoderFacts& facts) {
  const std::optional<json::object> config = config_of(facts);
  return config ? std::optional(preset_or_text(*config)) : std::nullopt;
}

bool DecoderFacts::*stray_part(const DecoderFacts& facts) {
  constexpr std::array kParts{&DecoderFacts::is_gated, &DecoderFacts::has_rms_norm,
                              &DecoderFacts::has_rotary, &DecoderFacts::has_biases};
  const auto* const found = std::ranges::find_if(kParts, [&](bool DecoderFacts::*part) {
    DecoderFacts other = facts;
    other.*part = !(facts.*part);
    return config_of(other).has_value();
  });
  return found == kParts.end() ? nullptr : *found;
}

/// Mistral's decoder is Llama's with a window, which these programs set apart.
bool has_form(const ModelSpec& preset, const DecoderFacts& facts) {
  const std::optional<json::object> config = config_of(facts);
  const std::string_view own = family_name(preset);
  const std::string_view type = config ? config->at("model_type").as_string().c_str() : "";
  return type == own || (type == "llama" && own == "mistral");
}

/// Fine-tuned versions of a model (CodeLlama) have some words more.
constexpr std::int64_t kAddedWords = 1000;

std::optional<std::int64_t> known_vocabulary(const DecoderFacts& facts) {
  std::optional<std::int64_t> words;
  for (const ModelSpec& preset : model_presets()) {
    const ModelShape shape = shape_of(preset);
    if (has_sizes(shape, facts) && has_form(preset, facts)) {
      if (words && std::abs(*words - shape.vocab) > kAddedWords) {
        return std::nullopt;
      }
      words = std::min(words.value_or(shape.vocab), shape.vocab);
    }
  }
  return words;
}

}  // namespace highwater::program_table
