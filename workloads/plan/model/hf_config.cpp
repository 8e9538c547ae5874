#include "workloads/plan/model/hf_config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_record.hpp"

namespace highwater {
namespace {

namespace json = boost::json;
using detail::JsonFields;

/// Names that several GPT families share, with what transformers' attribute_map also accepts.
template <class Config>
void read_gpt_sizes(JsonFields& fields, Config& config) {
  fields.read(config.vocab_size, "vocab_size");
  fields.read(config.n_positions, "n_positions", "max_position_embeddings");
  fields.read(config.n_embd, "n_embd", "hidden_size");
  fields.read(config.n_layer, "n_layer", "num_hidden_layers");
  fields.read(config.n_head, "n_head", "num_attention_heads");
  fields.read(config.n_inner, "n_inner");
  fields.read(config.activation_function, "activation_function");
  fields.read(config.resid_pdrop, "resid_pdrop");
  fields.read(config.embd_pdrop, "embd_pdrop");
  fields.read(config.attn_pdrop, "attn_pdrop");
  fields.read(config.tie_word_embeddings, "tie_word_embeddings");
}

void refuse_cross_attention(JsonFields& fields) {
  bool cross = false;
  fields.read(cross, "add_cross_attention");
  if (cross) {
    fields.add_problem("add_cross_attention", "is true, which is not supported");
  }
}

ModelConfig read_gpt2(JsonFields& fields) {
  Gpt2Config config;
  read_gpt_sizes(fields, config);
  fields.read(config.scale_attn_weights, "scale_attn_weights");
  fields.read(config.scale_attn_by_inverse_layer_idx, "scale_attn_by_inverse_layer_idx");
  fields.read(config.reorder_and_upcast_attn, "reorder_and_upcast_attn");
  refuse_cross_attention(fields);
  return config;
}

ModelConfig read_opt(JsonFields& fields) {
  OptConfig config;
  fields.read(config.vocab_size, "vocab_size");
  fields.read(config.hidden_size, "hidden_size");
  fields.read(config.num_hidden_layers, "num_hidden_layers");
  fields.read(config.ffn_dim, "ffn_dim");
  fields.read(config.max_position_embeddings, "max_position_embeddings");
  fields.read(config.do_layer_norm_before, "do_layer_norm_before");
  fields.read(config.remove_final_layer_norm, "_remove_final_layer_norm");
  fields.read(config.word_embed_proj_dim, "word_embed_proj_dim");
  fields.read(config.dropout, "dropout");
  fields.read(config.attention_dropout, "attention_dropout");
  fields.read(config.num_attention_heads, "num_attention_heads");
  fields.read(config.activation_function, "activation_function");
  fields.read(config.layerdrop, "layerdrop");
  fields.read(config.pad_token_id, "pad_token_id");
  fields.read(config.enable_bias, "enable_bias");
  fields.read(config.layer_norm_elementwise_affine, "layer_norm_elementwise_affine");
  fields.read(config.tie_word_embeddings, "tie_word_embeddings");
  return config;
}

ModelConfig read_bloom(JsonFields& fields) {
  BloomConfig config;
  fields.read(config.vocab_size, "vocab_size");
  fields.read(config.hidden_size, "n_embed", "hidden_size");
  fields.read(config.n_layer, "n_layer", "num_hidden_layers");
  fields.read(config.n_head, "n_head", "num_attention_heads");
  fields.read(config.apply_residual_connection_post_layernorm,
              "apply_residual_connection_post_layernorm");
  fields.read(config.hidden_dropout, "hidden_dropout");
  fields.read(config.attention_dropout, "attention_dropout");
  fields.read(config.pretraining_tp, "pretraining_tp");
  fields.read(config.slow_but_exact, "slow_but_exact");
  fields.read(config.tie_word_embeddings, "tie_word_embeddings");
  return config;
}

/// Appends the kinds named in `names`; false if one is no kind of attention.
bool append_attention(std::vector<GptNeoAttention>& layers, const json::array& names) {
  for (const json::value& name : names) {
    if (name != "global" && name != "local") {
      return false;
    }
    layers.push_back(name == "global" ? GptNeoAttention::global : GptNeoAttention::local);
  }
  return true;
}

/// [[["global", "local"], 6]]: the kinds in turn, so many times.
bool append_attention_types(std::vector<GptNeoAttention>& layers, const json::array& types) {
  constexpr std::int64_t kMostRepeats = 100000;
  for (const json::value& item : types) {
    const json::array* const pair = item.if_array();
    if (pair == nullptr || pair->size() != 2 || !pair->front().is_array() ||
        !pair->back().is_int64() || pair->back().get_int64() > kMostRepeats) {
      return false;
    }
    for (std::int64_t i = 0; i < pair->back().get_int64(); ++i) {
      if (!append_attention(layers, pair->front().get_array())) {
        return false;
      }
    }
  }
  return true;
}

void read_attention_layers(JsonFields& fields, GptNeoConfig& config) {
  if (const json::array* const layers = fields.array("attention_layers")) {
    if (!append_attention(config.attention_layers, *layers)) {
      fields.add_problem("attention_layers", "must list 'global' and 'local'");
    }
  } else if (const json::array* const types = fields.array("attention_types")) {
    if (!append_attention_types(config.attention_layers, *types)) {
      fields.add_problem("attention_types", "must look like [[[\"global\", \"local\"], 6]]");
    }
  }
}

ModelConfig read_gpt_neo(JsonFields& fields) {
  GptNeoConfig config;
  fields.read(config.vocab_size, "vocab_size");
  fields.read(config.max_position_embeddings, "max_position_embeddings");
  fields.read(config.hidden_size, "hidden_size");
  fields.read(config.num_layers, "num_layers", "num_hidden_layers");
  fields.read(config.num_heads, "num_heads", "num_attention_heads");
  fields.read(config.intermediate_size, "intermediate_size");
  fields.read(config.window_size, "window_size");
  fields.read(config.activation_function, "activation_function");
  fields.read(config.resid_dropout, "resid_dropout");
  fields.read(config.embed_dropout, "embed_dropout");
  fields.read(config.attention_dropout, "attention_dropout");
  fields.read(config.tie_word_embeddings, "tie_word_embeddings");
  read_attention_layers(fields, config);
  return config;
}

template <class Config>
ModelConfig read_rotary_gpt(JsonFields& fields) {
  Config config;
  read_gpt_sizes(fields, config);
  fields.read(config.rotary_dim, "rotary_dim");
  return config;
}

ModelConfig read_biogpt(JsonFields& fields) {
  BioGptConfig config;
  fields.read(config.vocab_size, "vocab_size");
  fields.read(config.hidden_size, "hidden_size");
  fields.read(config.num_hidden_layers, "num_hidden_layers");
  fields.read(config.num_attention_heads, "num_attention_heads");
  fields.read(config.intermediate_size, "intermediate_size");
  fields.read(config.hidden_act, "hidden_act");
  fields.read(config.hidden_dropout_prob, "hidden_dropout_prob");
  fields.read(config.attention_probs_dropout_prob, "attention_probs_dropout_prob");
  fields.read(config.max_position_embeddings, "max_position_embeddings");
  fields.read(config.scale_embedding, "scale_embedding");
  fields.read(config.layerdrop, "layerdrop");
  fields.read(config.activation_dropout, "activation_dropout");
  fields.read(config.pad_token_id, "pad_token_id");
  fields.read(config.tie_word_embeddings, "tie_word_embeddings");
  return config;
}

ModelConfig read_gpt_bigcode(JsonFields& fields) {
  GptBigCodeConfig config;
  read_gpt_sizes(fields, config);
  fields.read(config.scale_attn_weights, "scale_attn_weights");
  fields.read(config.attention_softmax_in_fp32, "attention_softmax_in_fp32");
  fields.read(config.scale_attention_softmax_in_fp32, "scale_attention_softmax_in_fp32");
  fields.read(config.multi_query, "multi_query");
  refuse_cross_attention(fields);
  return config;
}

constexpr std::array<std::pair<std::string_view, RopeType>, 6> kRopeTypes{{
    {"default", RopeType::standard},
    {"linear", RopeType::linear},
    {"dynamic", RopeType::dynamic},
    {"yarn", RopeType::yarn},
    {"longrope", RopeType::longrope},
    {"llama3", RopeType::llama3},
}};

void read_rope_type(JsonFields& scaling, RopeType& type) {
  const std::string_view key = scaling.find("rope_type") != nullptr ? "rope_type" : "type";
  const std::string name = scaling.text(key);
  if (name.empty()) {
    return;
  }
  const auto* const found = std::ranges::find(kRopeTypes, std::string_view(name),
                                              &std::pair<std::string_view, RopeType>::first);
  if (found == kRopeTypes.end()) {
    scaling.add_problem(
        key, "is '" + name + "', not one of default, linear, dynamic, yarn, longrope, llama3");
    return;
  }
  type = found->second;
}

/// rope_scaling (transformers 4) wins over rope_parameters (5), as transformers has it; rope_theta
/// may stand beside or inside.
void read_rope(JsonFields& fields, RopeParameters& rope) {
  fields.read(rope.rope_theta, "rope_theta");
  fields.read(rope.partial_rotary_factor, "partial_rotary_factor");
  auto scaling = fields.child("rope_scaling");
  if (!scaling) {
    scaling = fields.child("rope_parameters");
  }
  if (!scaling) {
    return;
  }
  read_rope_type(*scaling, rope.rope_type);
  scaling->read(rope.rope_theta, "rope_theta");
  scaling->read(rope.factor, "factor");
  scaling->read(rope.partial_rotary_factor, "partial_rotary_factor");
  scaling->read(rope.original_max_position_embeddings, "original_max_position_embeddings");
}

template <class Config>
void read_rope_decoder(JsonFields& fields, Config& config) {
  fields.read(config.vocab_size, "vocab_size");
  fields.read(config.hidden_size, "hidden_size");
  fields.read(config.intermediate_size, "intermediate_size");
  fields.read(config.num_hidden_layers, "num_hidden_layers");
  fields.read(config.num_attention_heads, "num_attention_heads");
  fields.read(config.hidden_act, "hidden_act");
  fields.read(config.max_position_embeddings, "max_position_embeddings");
  fields.read(config.pad_token_id, "pad_token_id");
  fields.read(config.tie_word_embeddings, "tie_word_embeddings");
  fields.read(config.attention_dropout, "attention_dropout");
  read_rope(fields, config.rope_parameters);
}

/// An explicit null means "as many as heads", also where the default is a number.
void read_kv_heads(JsonFields& fields, const json::object& object,
                   std::optional<std::int64_t>& kv_heads) {
  if (object.contains("num_key_value_heads")) {
    kv_heads.reset();
  }
  fields.read(kv_heads, "num_key_value_heads");
}

/// An explicit null switches the window off, also where the default is a number.
void read_window(JsonFields& fields, const json::object& object,
                 std::optional<std::int64_t>& window) {
  if (object.contains("sliding_window")) {
    window.reset();
  }
  fields.read(window, "sliding_window");
}

void read_layer_types(JsonFields& fields, LlamaConfig& config) {
  const json::array* const types = fields.array("layer_types");
  if (types == nullptr) {
    return;
  }
  for (const json::value& type : *types) {
    if (type != "sliding_attention" && type != "full_attention") {
      fields.add_problem("layer_types", "must list 'full_attention' and 'sliding_attention'");
      return;
    }
    config.sliding_layers.push_back(type == "sliding_attention");
  }
}

ModelConfig read_llama(JsonFields& fields, const json::object& object, LlamaFamily family) {
  LlamaConfig config = llama_defaults(family);
  read_rope_decoder(fields, config);
  read_kv_heads(fields, object, config.num_key_value_heads);
  fields.read(config.head_dim, "head_dim");
  const bool is_qwen = family == LlamaFamily::qwen2 || family == LlamaFamily::qwen3;
  if (family == LlamaFamily::mistral || is_qwen) {
    read_window(fields, object, config.sliding_window);
  } else {
    fields.read(config.attention_bias, "attention_bias");
  }
  if (family == LlamaFamily::llama) {
    fields.read(config.mlp_bias, "mlp_bias");
  }
  if (family == LlamaFamily::qwen3) {
    fields.read(config.attention_bias, "attention_bias");
  }
  if (is_qwen) {
    fields.read(config.use_sliding_window, "use_sliding_window");
    fields.read(config.max_window_layers, "max_window_layers");
    read_layer_types(fields, config);
  }
  return config;
}

ModelConfig read_mixtral(JsonFields& fields, const json::object& object) {
  MixtralConfig config;
  read_rope_decoder(fields, config);
  read_kv_heads(fields, object, config.num_key_value_heads);
  fields.read(config.head_dim, "head_dim");
  read_window(fields, object, config.sliding_window);
  fields.read(config.num_experts_per_tok, "num_experts_per_tok");
  fields.read(config.num_local_experts, "num_local_experts", "num_experts");
  fields.read(config.output_router_logits, "output_router_logits");
  fields.read(config.router_jitter_noise, "router_jitter_noise");
  return config;
}

ModelConfig read_deepseek_v3(JsonFields& fields, const json::object& object) {
  DeepseekV3Config config;
  read_rope_decoder(fields, config);
  read_kv_heads(fields, object, config.num_key_value_heads);
  if (object.contains("q_lora_rank")) {
    config.q_lora_rank.reset();  // null: one full projection
  }
  fields.read(config.q_lora_rank, "q_lora_rank");
  fields.read(config.moe_intermediate_size, "moe_intermediate_size");
  fields.read(config.n_shared_experts, "n_shared_experts");
  fields.read(config.n_routed_experts, "n_routed_experts", "num_local_experts");
  fields.read(config.kv_lora_rank, "kv_lora_rank");
  fields.read(config.qk_rope_head_dim, "qk_rope_head_dim");
  fields.read(config.v_head_dim, "v_head_dim");
  fields.read(config.qk_nope_head_dim, "qk_nope_head_dim");
  fields.read(config.n_group, "n_group");
  fields.read(config.topk_group, "topk_group");
  fields.read(config.num_experts_per_tok, "num_experts_per_tok");
  fields.read(config.first_k_dense_replace, "first_k_dense_replace");
  fields.read(config.norm_topk_prob, "norm_topk_prob");
  fields.read(config.rope_interleave, "rope_interleave");
  fields.read(config.attention_bias, "attention_bias");
  return config;
}

/// "relu", "gated-gelu", "gated-silu": whether the MLP is gated, and its activation.
void read_feed_forward_proj(JsonFields& fields, T5Config& config) {
  std::string name = fields.text("feed_forward_proj");
  if (name.empty()) {
    return;
  }
  constexpr std::string_view kGated = "gated-";
  config.is_gated_act = name.starts_with(kGated);
  if (config.is_gated_act) {
    name.erase(0, kGated.size());
    name = name == "gelu" ? "gelu_new" : name;  // as transformers reads "gated-gelu"
  }
  const auto activation = parse_activation(name);
  if (!activation) {
    fields.add_problem(
        "feed_forward_proj",
        "must be an activation, or 'gated-' and an activation, but is '" + name + "'");
    return;
  }
  config.dense_act_fn = *activation;
}

ModelConfig read_t5(JsonFields& fields) {
  T5Config config;
  fields.read(config.vocab_size, "vocab_size");
  fields.read(config.d_model, "d_model", "hidden_size");
  fields.read(config.d_kv, "d_kv", "head_dim");
  fields.read(config.d_ff, "d_ff");
  fields.read(config.num_layers, "num_layers", "num_hidden_layers");
  fields.read(config.num_decoder_layers, "num_decoder_layers");
  fields.read(config.num_heads, "num_heads", "num_attention_heads");
  fields.read(config.relative_attention_num_buckets, "relative_attention_num_buckets");
  fields.read(config.relative_attention_max_distance, "relative_attention_max_distance");
  fields.read(config.dropout_rate, "dropout_rate");
  fields.read(config.scale_decoder_outputs, "scale_decoder_outputs", "tie_word_embeddings");
  read_feed_forward_proj(fields, config);
  return config;
}

ModelConfig read_plain(JsonFields& fields) {
  PlainConfig config;
  fields.require(config.vocab, "vocab");
  fields.require(config.dim, "dim");
  fields.require(config.ffn, "ffn");
  fields.require(config.layers, "layers");
  fields.require(config.heads, "heads");
  config.kv_heads = config.heads;
  fields.read(config.kv_heads, "kv_heads");
  fields.read(config.theta, "theta");
  return config;
}

using Reader = ModelConfig (*)(JsonFields& fields, const json::object& object);

template <ModelConfig (*read)(JsonFields&)>
ModelConfig ignoring_object(JsonFields& fields, const json::object& /*object*/) {
  return read(fields);
}

template <LlamaFamily family>
ModelConfig llama_of(JsonFields& fields, const json::object& object) {
  return read_llama(fields, object, family);
}

/// One row per family that transformers calls so.
struct Family {
  std::string_view model_type;
  std::string_view class_prefix;  ///< of the names in `architectures`
  Reader read;
};

constexpr std::array<Family, 17> kFamilies{{
    {"gpt2", "GPT2", ignoring_object<read_gpt2>},
    {"opt", "OPT", ignoring_object<read_opt>},
    {"bloom", "Bloom", ignoring_object<read_bloom>},
    {"gpt_neo", "GPTNeoFor", ignoring_object<read_gpt_neo>},
    {"codegen", "CodeGen", ignoring_object<read_rotary_gpt<CodegenConfig>>},
    {"gptj", "GPTJ", ignoring_object<read_rotary_gpt<GptJConfig>>},
    {"biogpt", "BioGpt", ignoring_object<read_biogpt>},
    {"gpt_bigcode", "GPTBigCode", ignoring_object<read_gpt_bigcode>},
    {"llama", "LlamaFor", llama_of<LlamaFamily::llama>},
    {"mistral", "MistralFor", llama_of<LlamaFamily::mistral>},
    {"qwen2", "Qwen2For", llama_of<LlamaFamily::qwen2>},
    {"qwen3", "Qwen3For", llama_of<LlamaFamily::qwen3>},
    {"gemma", "GemmaFor", llama_of<LlamaFamily::gemma>},
    {"mixtral", "Mixtral", read_mixtral},
    {"deepseek_v3", "DeepseekV3", read_deepseek_v3},
    {"t5", "T5", ignoring_object<read_t5>},
    {"plain", "PlainDecoder", ignoring_object<read_plain>},
}};

std::string covered_types() {
  std::string text;
  for (const Family& family : kFamilies) {
    text.append(text.empty() ? "" : ", ").append(family.model_type);
  }
  return text;
}

/// The family that model_type names, or else the first of `architectures`.
const Family* find_family(JsonFields& fields, std::string& named) {
  named = fields.text("model_type");
  if (!named.empty()) {
    const auto* const found =
        std::ranges::find(kFamilies, std::string_view(named), &Family::model_type);
    return found == kFamilies.end() ? nullptr : found;
  }
  const json::array* const classes = fields.array("architectures");
  if (classes == nullptr || classes->empty() || !classes->front().is_string()) {
    return nullptr;
  }
  named.assign(classes->front().get_string().data(), classes->front().get_string().size());
  const auto* const found = std::ranges::find_if(
      kFamilies, [&](const Family& family) { return named.starts_with(family.class_prefix); });
  return found == kFamilies.end() ? nullptr : found;
}

/// Weights published in fp8 are trained in the precision of the plan; other methods replace layers.
void refuse_quantized(JsonFields& fields) {
  auto config = fields.child("quantization_config");
  if (config && config->text("quant_method") != "fp8") {
    fields.add_problem("quantization_config",
                       "is given: quantized layers are not supported, delete this field");
  }
}

/// Only language models have the head and the loss that are simulated.
void refuse_other_heads(JsonFields& fields) {
  const json::array* const classes = fields.array("architectures");
  if (classes == nullptr || classes->empty() || !classes->front().is_string()) {
    return;
  }
  const std::string_view name = classes->front().get_string();
  for (const std::string_view task :
       {"SequenceClassification", "TokenClassification", "QuestionAnswering", "DoubleHeads"}) {
    if (name.find(task) != std::string_view::npos) {
      fields.add_problem("architectures",
                         "names a model without a language-model head, which is not supported");
    }
  }
}

void throw_problems(std::string_view source, const std::vector<std::string>& problems) {
  if (!problems.empty()) {
    throw InputError(source, "", fmt::format("{}", fmt::join(problems, "; ")),
                     "correct the model description");
  }
}

[[noreturn]] void throw_unknown_family(std::string_view source, const std::string& named) {
  throw InputError(source, "model_type",
                   named.empty() ? "the file names no family of models"
                                 : "'" + named + "' is not a covered family",
                   "covered are " + covered_types());
}

ModelSpec read_hf(const json::object& object, const std::string& path, std::string_view source) {
  std::vector<std::string> problems;
  JsonFields fields(object, path, problems);
  std::string named;
  const Family* const family = find_family(fields, named);
  if (family == nullptr) {
    throw_problems(source, problems);
    throw_unknown_family(source, named);
  }
  refuse_quantized(fields);
  refuse_other_heads(fields);
  ModelSpec spec{fields.text("_name_or_path"), std::string(source), family->read(fields, object)};
  throw_problems(source, problems);
  if (spec.name.empty()) {
    spec.name = family->model_type;
  }
  return spec;
}

/// {family, source, config} as recordings have it.
ModelSpec read_recorded(const json::object& object, std::string_view source) {
  const json::value& config = object.at("config");
  if (!config.is_object()) {
    throw InputError(source, "config", "not an object", "");
  }
  if (object.at("family") != "plain") {
    return read_hf(config.get_object(), "config.", source);
  }
  std::vector<std::string> problems;
  JsonFields fields(config.get_object(), "config.", problems);
  ModelSpec spec{"plain", std::string(source), read_plain(fields)};
  throw_problems(source, problems);
  return spec;
}

json::value parse_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw InputError(path, "", "cannot be opened", "check the path");
  }
  const std::string text(std::istreambuf_iterator<char>(file), {});
  json::stream_parser parser;
  json::error_code error;
  std::size_t position = parser.write_some(text, error);
  position = std::min(text.find_first_not_of(" \t\r\n", position), text.size());
  if (!error && position == text.size()) {
    parser.finish(error);
  }
  if (error || position < text.size()) {
    throw InputError(path, fmt::format("byte {}", position),
                     error ? "not JSON (" + error.message() + ")" : "more than one JSON value",
                     "give a config.json or a model record");
  }
  return parser.release();
}

}  // namespace

ModelSpec model_from_json(const json::value& value, std::string_view source) {
  const json::object* const object = value.if_object();
  if (object == nullptr) {
    throw InputError(source, "", "not a JSON object", "give a config.json or a model record");
  }
  if (object->contains("family") && object->contains("config")) {
    return read_recorded(*object, source);
  }
  if (object->contains("family") && !object->contains("model_type")) {
    return detail::read_model_record(*object, source);
  }
  return read_hf(*object, "", source);
}

ModelSpec read_model(const std::string& path) {
  ModelSpec spec = model_from_json(parse_file(path), path);
  const std::string stem = std::filesystem::path(path).stem().string();
  const bool unnamed = spec.name == family_name(spec);
  if (unnamed && stem != "config") {
    spec.name = stem;
  }
  return spec;
}

}  // namespace highwater
