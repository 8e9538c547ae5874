#include "workloads/plan/model/model_record.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "workloads/plan/model/json_fields.hpp"

namespace highwater::detail {
namespace {

namespace json = boost::json;

/// A record's fields, before they become a family's config.
struct Record {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t vocab = 0;
  std::optional<std::int64_t> kv_heads;
  std::optional<std::int64_t> head_dim;
  std::optional<std::int64_t> ffn_hidden;
  std::optional<std::int64_t> max_positions;
  std::optional<std::int64_t> embed_proj_dim;
  std::optional<std::int64_t> rotary_dim;
  std::optional<bool> tied_embeddings;
  std::optional<double> attention_dropout;
  std::optional<double> hidden_dropout;
  std::optional<double> embedding_dropout;
  bool post_norm = false;
  std::optional<JsonFields> moe;
  std::optional<JsonFields> mla;
};

template <class T, class U>
void set(T& field, const std::optional<U>& value) {
  if (value) {
    field = *value;
  }
}

template <class Config>
void set_rope_decoder(Config& config, const Record& record) {
  config.num_hidden_layers = record.layers;
  config.hidden_size = record.hidden;
  config.num_attention_heads = record.heads;
  config.vocab_size = record.vocab;
  config.num_key_value_heads = record.kv_heads.value_or(record.heads);
  set(config.intermediate_size, record.ffn_hidden);
  set(config.max_position_embeddings, record.max_positions);
  set(config.tie_word_embeddings, record.tied_embeddings);
  set(config.attention_dropout, record.attention_dropout);
}

template <class Config>
Config gpt_of(const Record& record) {
  Config config;
  config.n_layer = record.layers;
  config.n_embd = record.hidden;
  config.n_head = record.heads;
  config.vocab_size = record.vocab;
  config.n_inner = record.ffn_hidden;
  set(config.n_positions, record.max_positions);
  set(config.tie_word_embeddings, record.tied_embeddings);
  set(config.attn_pdrop, record.attention_dropout);
  set(config.resid_pdrop, record.hidden_dropout);
  set(config.embd_pdrop, record.embedding_dropout);
  return config;
}

ModelConfig gpt2_of(Record& record) {
  return gpt_of<Gpt2Config>(record);
}

template <class Config>
ModelConfig rotary_gpt_of(Record& record) {
  auto config = gpt_of<Config>(record);
  set(config.rotary_dim, record.rotary_dim);
  return config;
}

ModelConfig gpt_bigcode_of(Record& record) {
  auto config = gpt_of<GptBigCodeConfig>(record);
  config.multi_query = record.kv_heads.value_or(1) != record.heads;
  return config;
}

ModelConfig opt_of(Record& record) {
  OptConfig config;
  config.num_hidden_layers = record.layers;
  config.hidden_size = record.hidden;
  config.num_attention_heads = record.heads;
  config.vocab_size = record.vocab;
  config.ffn_dim = record.ffn_hidden.value_or(4 * record.hidden);
  config.word_embed_proj_dim = record.embed_proj_dim;
  config.do_layer_norm_before = !record.post_norm;
  set(config.max_position_embeddings, record.max_positions);
  set(config.tie_word_embeddings, record.tied_embeddings);
  set(config.dropout, record.hidden_dropout);
  set(config.attention_dropout, record.attention_dropout);
  return config;
}

ModelConfig bloom_of(Record& record) {
  BloomConfig config;
  config.n_layer = record.layers;
  config.hidden_size = record.hidden;
  config.n_head = record.heads;
  config.vocab_size = record.vocab;
  set(config.tie_word_embeddings, record.tied_embeddings);
  set(config.hidden_dropout, record.hidden_dropout);
  set(config.attention_dropout, record.attention_dropout);
  return config;
}

ModelConfig gpt_neo_of(Record& record) {
  GptNeoConfig config;
  config.num_layers = record.layers;
  config.hidden_size = record.hidden;
  config.num_heads = record.heads;
  config.vocab_size = record.vocab;
  config.intermediate_size = record.ffn_hidden;
  set(config.max_position_embeddings, record.max_positions);
  set(config.tie_word_embeddings, record.tied_embeddings);
  set(config.resid_dropout, record.hidden_dropout);
  set(config.embed_dropout, record.embedding_dropout);
  set(config.attention_dropout, record.attention_dropout);
  return config;
}

ModelConfig biogpt_of(Record& record) {
  BioGptConfig config;
  config.num_hidden_layers = record.layers;
  config.hidden_size = record.hidden;
  config.num_attention_heads = record.heads;
  config.vocab_size = record.vocab;
  config.intermediate_size = record.ffn_hidden.value_or(4 * record.hidden);
  set(config.max_position_embeddings, record.max_positions);
  set(config.tie_word_embeddings, record.tied_embeddings);
  set(config.hidden_dropout_prob, record.hidden_dropout);
  set(config.attention_probs_dropout_prob, record.attention_dropout);
  return config;
}

template <LlamaFamily family>
ModelConfig llama_of(Record& record) {
  LlamaConfig config = llama_defaults(family);
  set_rope_decoder(config, record);
  config.head_dim = record.head_dim;
  return config;
}

ModelConfig mixtral_of(Record& record) {
  MixtralConfig config;
  set_rope_decoder(config, record);
  config.head_dim = record.head_dim;
  if (record.moe) {
    record.moe->read(config.num_local_experts, "num_experts");
    record.moe->read(config.num_experts_per_tok, "experts_per_token");
    record.moe->read(config.intermediate_size, "expert_ffn_hidden");
  }
  return config;
}

ModelConfig deepseek_v3_of(Record& record) {
  DeepseekV3Config config;
  set_rope_decoder(config, record);
  if (record.moe) {
    record.moe->read(config.n_routed_experts, "num_experts");
    record.moe->read(config.num_experts_per_tok, "experts_per_token");
    record.moe->read(config.moe_intermediate_size, "expert_ffn_hidden");
    record.moe->read(config.n_shared_experts, "shared_experts");
    record.moe->read(config.first_k_dense_replace, "first_dense_layers");
  }
  if (record.mla) {
    record.mla->read(config.q_lora_rank, "q_lora_rank");
    record.mla->read(config.kv_lora_rank, "kv_lora_rank");
    record.mla->read(config.qk_nope_head_dim, "qk_nope_head_dim");
    record.mla->read(config.qk_rope_head_dim, "qk_rope_head_dim");
    record.mla->read(config.v_head_dim, "v_head_dim");
  }
  return config;
}

ModelConfig t5_of(Record& record) {
  T5Config config;
  config.num_layers = record.layers;
  config.d_model = record.hidden;
  config.num_heads = record.heads;
  config.vocab_size = record.vocab;
  set(config.d_kv, record.head_dim);
  set(config.d_ff, record.ffn_hidden);
  set(config.dropout_rate, record.hidden_dropout);
  return config;
}

ModelConfig gpt_next_of(Record& record) {
  GptNextConfig config;
  config.num_layers = record.layers;
  config.hidden_size = record.hidden;
  config.num_attention_heads = record.heads;
  config.vocab_size = record.vocab;
  set(config.ffn_hidden_size, record.ffn_hidden);
  set(config.attention_dropout, record.attention_dropout);
  set(config.hidden_dropout, record.hidden_dropout);
  return config;
}

ModelConfig plain_of(Record& record) {
  return PlainConfig{.vocab = record.vocab,
                     .dim = record.hidden,
                     .ffn = record.ffn_hidden.value_or(4 * record.hidden),
                     .layers = record.layers,
                     .heads = record.heads,
                     .kv_heads = record.kv_heads.value_or(record.heads)};
}

struct RecordFamily {
  std::string_view name;
  ModelConfig (*make)(Record& record);
};

constexpr std::array<RecordFamily, 18> kFamilies{{
    {"gpt2", gpt2_of},
    {"opt", opt_of},
    {"bloom", bloom_of},
    {"gpt_neo", gpt_neo_of},
    {"codegen", rotary_gpt_of<CodegenConfig>},
    {"gptj", rotary_gpt_of<GptJConfig>},
    {"biogpt", biogpt_of},
    {"gpt_bigcode", gpt_bigcode_of},
    {"llama", llama_of<LlamaFamily::llama>},
    {"mistral", llama_of<LlamaFamily::mistral>},
    {"qwen2", llama_of<LlamaFamily::qwen2>},
    {"qwen3", llama_of<LlamaFamily::qwen3>},
    {"gemma", llama_of<LlamaFamily::gemma>},
    {"mixtral", mixtral_of},
    {"deepseek_v3", deepseek_v3_of},
    {"t5", t5_of},
    {"gpt_next", gpt_next_of},
    {"plain", plain_of},
}};

/// Fields that decide something.
constexpr std::array<std::string_view, 21> kKnown{"name",
                                                  "family",
                                                  "layers",
                                                  "hidden",
                                                  "heads",
                                                  "vocab",
                                                  "kv_heads",
                                                  "head_dim",
                                                  "ffn_hidden",
                                                  "max_positions",
                                                  "embed_proj_dim",
                                                  "rotary_dim",
                                                  "tied_embeddings",
                                                  "attention_dropout",
                                                  "hidden_dropout",
                                                  "embedding_dropout",
                                                  "norm_placement",
                                                  "moe",
                                                  "mla",
                                                  "source",
                                                  "hf_id"};

/// Fields of the reference records that say what the family already decides, or comment.
constexpr std::array<std::string_view, 25> kRemarks{"gated_mlp",
                                                    "learned_positions",
                                                    "position_encoding",
                                                    "norm_type",
                                                    "final_norm",
                                                    "biases",
                                                    "activation",
                                                    "parallel_attention",
                                                    "published_params",
                                                    "published_rounded",
                                                    "verification",
                                                    "notes",
                                                    "inventory_rule",
                                                    "config_confirmed",
                                                    "computed_params",
                                                    "match",
                                                    "num_param_tensors",
                                                    "largest_module_params",
                                                    "params_by_kind",
                                                    "embedding_norm",
                                                    "fused_qkv",
                                                    "logits_fp32",
                                                    "attention_scores_fp32",
                                                    "relative_position_buckets",
                                                    "comment"};

std::string_view nearest_field(std::string_view key) {
  return *std::ranges::min_element(
      kKnown, {}, [&](std::string_view known) { return edit_distance(key, known); });
}

void report_unknown(JsonFields& fields, const json::object& object) {
  for (const auto& member : object) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::ranges::find(kKnown, key) == kKnown.end() &&
        std::ranges::find(kRemarks, key) == kRemarks.end()) {
      fields.add_problem(
          key, fmt::format("is no field of a model record (nearest: '{}')", nearest_field(key)));
    }
  }
}

Record read_record(JsonFields& fields) {
  Record record;
  fields.require(record.layers, "layers");
  fields.require(record.hidden, "hidden");
  fields.require(record.heads, "heads");
  fields.require(record.vocab, "vocab");
  fields.read(record.kv_heads, "kv_heads");
  fields.read(record.head_dim, "head_dim");
  fields.read(record.ffn_hidden, "ffn_hidden");
  fields.read(record.max_positions, "max_positions");
  fields.read(record.embed_proj_dim, "embed_proj_dim");
  fields.read(record.rotary_dim, "rotary_dim");
  fields.read(record.tied_embeddings, "tied_embeddings");
  fields.read(record.attention_dropout, "attention_dropout");
  fields.read(record.hidden_dropout, "hidden_dropout");
  fields.read(record.embedding_dropout, "embedding_dropout");
  record.post_norm = fields.text("norm_placement") == "post";
  record.moe = fields.child("moe");
  record.mla = fields.child("mla");
  return record;
}

const RecordFamily& find_family(const std::string& name, std::string_view source) {
  const auto* const found =
      std::ranges::find(kFamilies, std::string_view(name), &RecordFamily::name);
  if (found == kFamilies.end()) {
    std::vector<std::string_view> names;
    for (const RecordFamily& family : kFamilies) {
      names.push_back(family.name);
    }
    throw InputError(source, "family", "'" + name + "' is not a covered family",
                     fmt::format("covered are {}", fmt::join(names, ", ")));
  }
  return *found;
}

}  // namespace

ModelSpec read_model_record(const json::object& object, std::string_view source) {
  std::vector<std::string> problems;
  JsonFields fields(object, "", problems);
  const RecordFamily& family = find_family(fields.text("family"), source);
  report_unknown(fields, object);
  Record record = read_record(fields);
  ModelSpec spec{fields.text("name"), fields.text("source"), family.make(record)};
  if (!problems.empty()) {
    throw InputError(source, "", fmt::format("{}", fmt::join(problems, "; ")),
                     "correct the model record");
  }
  spec.name = spec.name.empty() ? std::string(family.name) : spec.name;
  spec.source = spec.source.empty() ? std::string(source) : spec.source;
  return spec;
}

}  // namespace highwater::detail
