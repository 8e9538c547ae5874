// DeepSeek-V3: the configuration and its defaults (transformers 5.12,
// configuration_deepseek_v3.py), restricted to the fields that decide allocations. Without the
// multi-token-prediction module, which transformers does not build either.
#pragma once

#include <algorithm>
#include <memory>

#include "workloads/plan/model/families/mistral.hpp"
#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/rope.hpp"

namespace highwater {

/// How latent attention turns the columns that have positions.
enum class LatentRotation : std::uint8_t {
  by_configuration,  ///< halves or, with rope_interleave, neighbours
  complex_numbers    ///< neighbours are complex numbers: DeepSeek-V2
};

/// How the gate of a mixture chooses.
enum class LatentGate : std::uint8_t {
  sigmoid,  ///< with a correction, from the best groups
  softmax   ///< from the best groups if the configuration says so: DeepSeek-V2
};

/// Where the Python code of a decoder with latent attention differs from DeepSeek-V3's.
struct DeepseekCode {
  const Family& (*family)();
  LlamaCode frame = kMistralCode;  ///< what is around attention and mixtures
  LatentRotation rotation = LatentRotation::by_configuration;
  LatentGate gate = LatentGate::sigmoid;
  CorrectionType correction = CorrectionType::of_model;
  bool names_normed_latent = false;  ///< which outlives the turned columns: DeepSeek-V2
};

const Family& deepseek_v3_family();

inline constexpr DeepseekCode kDeepseekV3Code{.family = deepseek_v3_family};

struct DeepseekV3Config {
  const DeepseekCode* code = &kDeepseekV3Code;
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
  std::optional<std::int64_t> n_group = 8;
  std::optional<std::int64_t> topk_group = 4;
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
  bool mlp_bias = false;
  double attention_dropout = 0.0;
  bool limits_groups = false;  ///< deepseek_v2: experts are those of the best groups

  bool operator==(const DeepseekV3Config&) const = default;
};

inline constexpr std::array kDeepseekV3Fields{
    field<&DeepseekV3Config::vocab_size>("vocab_size", FieldRole::vocab),
    field<&DeepseekV3Config::hidden_size>("hidden_size", FieldRole::hidden),
    field<&DeepseekV3Config::intermediate_size>("intermediate_size", FieldRole::other_size,
                                                {.own_key = "ffn_hidden"}),
    field<&DeepseekV3Config::moe_intermediate_size>("moe_intermediate_size", FieldRole::ffn,
                                                    {.own_key = "moe.expert_ffn_hidden"}),
    field<&DeepseekV3Config::num_hidden_layers>("num_hidden_layers", FieldRole::layers),
    field<&DeepseekV3Config::num_attention_heads>("num_attention_heads", FieldRole::heads),
    field<&DeepseekV3Config::num_key_value_heads>("num_key_value_heads", FieldRole::unused_kv_heads,
                                                  {.null_clears = true}),
    field<&DeepseekV3Config::n_routed_experts>(
        "n_routed_experts", FieldRole::experts,
        {.alias = "num_local_experts", .own_key = "moe.num_experts"}),
    field<&DeepseekV3Config::n_shared_experts>("n_shared_experts", FieldRole::other_size,
                                               {.own_key = "moe.shared_experts"}),
    field<&DeepseekV3Config::num_experts_per_tok>(
        "num_experts_per_tok", FieldRole::experts_per_token, {.own_key = "moe.experts_per_token"}),
    field<&DeepseekV3Config::q_lora_rank>("q_lora_rank", FieldRole::other_size,
                                          {.own_key = "mla.q_lora_rank", .null_clears = true}),
    field<&DeepseekV3Config::kv_lora_rank>("kv_lora_rank", FieldRole::other_size,
                                           {.own_key = "mla.kv_lora_rank"}),
    field<&DeepseekV3Config::qk_nope_head_dim>("qk_nope_head_dim", FieldRole::other_size,
                                               {.own_key = "mla.qk_nope_head_dim"}),
    field<&DeepseekV3Config::qk_rope_head_dim>("qk_rope_head_dim", FieldRole::none,
                                               {.own_key = "mla.qk_rope_head_dim"}),
    field<&DeepseekV3Config::v_head_dim>("v_head_dim", FieldRole::other_size,
                                         {.own_key = "mla.v_head_dim"}),
    field<&DeepseekV3Config::n_group>("n_group", FieldRole::other_size),
    field<&DeepseekV3Config::topk_group>("topk_group", FieldRole::other_size),
    field<&DeepseekV3Config::first_k_dense_replace>("first_k_dense_replace", FieldRole::none,
                                                    {.own_key = "moe.first_dense_layers"}),
    field<&DeepseekV3Config::norm_topk_prob>("norm_topk_prob"),
    field<&DeepseekV3Config::hidden_act>("hidden_act"),
    field<&DeepseekV3Config::max_position_embeddings>("max_position_embeddings",
                                                      FieldRole::max_positions),
    field<&DeepseekV3Config::pad_token_id>("pad_token_id"),
    field<&DeepseekV3Config::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
    field<&DeepseekV3Config::rope_interleave>("rope_interleave"),
    field<&DeepseekV3Config::attention_bias>("attention_bias"),
    field<&DeepseekV3Config::attention_dropout>("attention_dropout", FieldRole::attention_dropout),
};

constexpr bool is_of_mixture(const ConfigField& field) {
  return field.role == FieldRole::experts || field.role == FieldRole::experts_per_token ||
         field.details.own_key.starts_with("moe.") || field.name.ends_with("group") ||
         field.name == "norm_topk_prob";
}

/// The fields of a model without mixtures.
constexpr auto dense_deepseek_fields() {
  std::array<ConfigField, kDeepseekV3Fields.size() - 8> fields{};
  std::size_t count = 0;
  for (const ConfigField& each : kDeepseekV3Fields) {
    if (each.name == "intermediate_size") {
      fields[count++] = field<&DeepseekV3Config::intermediate_size>(each.name, FieldRole::ffn);
    } else if (!is_of_mixture(each)) {
      fields[count++] = each;
    }
  }
  return fields;
}

inline const Family& family_of(const DeepseekV3Config& config) {
  return config.code->family();
}

/// How many of the first layers have no mixture: all of them without experts (Youtu).
inline std::int64_t dense_layers(const DeepseekV3Config& config) {
  return config.n_routed_experts == 0 ? config.num_hidden_layers : config.first_k_dense_replace;
}

inline void read_deepseek_v3(DeepseekV3Config& config, JsonFields& fields) {
  read_rope(config.rope_parameters, fields);
}

/// `mlp_layer_types` of relatives: the first layers are dense, the others mixtures.
inline void read_deepseek_relative(DeepseekV3Config& config, JsonFields& fields) {
  read_deepseek_v3(config, fields);
  const boost::json::array* const types = fields.array("mlp_layer_types");
  if (types == nullptr) {
    return;
  }
  const auto first_sparse = std::ranges::find(*types, boost::json::value("sparse"));
  config.first_k_dense_replace = first_sparse - types->begin();
  if (std::find(first_sparse, types->end(), boost::json::value("dense")) != types->end()) {
    fields.add_gap("mlp_layer_types", "has dense layers behind a mixture, which is not simulated");
  }
}

inline void complete_deepseek_v3_shape(const DeepseekV3Config& config, ModelShape& shape) {
  shape.head_dim = config.qk_nope_head_dim + config.qk_rope_head_dim;
}

inline void check_deepseek_v3(const DeepseekV3Config& c, ModelProblems& problems) {
  problems.check_rotary("qk_rope_head_dim", c.qk_rope_head_dim, c.qk_rope_head_dim);
  const std::int64_t groups = c.n_group.value_or(1);
  problems.check_divides("n_group", groups, "n_routed_experts", c.n_routed_experts);
  if (c.topk_group.value_or(1) > groups) {
    problems.add("topk_group is {}, but n_group is only {}", *c.topk_group, groups);
  }
  if (c.first_k_dense_replace < 0 || c.first_k_dense_replace > c.num_hidden_layers) {
    problems.add("first_k_dense_replace is {}; give 0 to num_hidden_layers ({})",
                 c.first_k_dense_replace, c.num_hidden_layers);
  }
}

/// Multi-head latent attention: queries and the shared key-value latent each pass a low rank.
inline void add_latent_attention(ParameterCount& count, const DeepseekV3Config& c) {
  const std::int64_t heads = c.num_attention_heads;
  const std::int64_t query = heads * (c.qk_nope_head_dim + c.qk_rope_head_dim);
  const std::int64_t q_rank = c.q_lora_rank.value_or(0);
  const std::int64_t latent = c.kv_lora_rank + c.qk_rope_head_dim;
  const std::int64_t key_value = heads * (c.qk_nope_head_dim + c.v_head_dim);
  const std::int64_t q_weights =
      c.q_lora_rank ? q_rank * (c.hidden_size + query) : c.hidden_size * query;
  const std::int64_t weights = q_weights + c.hidden_size * latent + c.kv_lora_rank * key_value +
                               heads * c.v_head_dim * c.hidden_size;
  count.linear += c.num_hidden_layers * weights;
  count.norm += c.num_hidden_layers * (q_rank + c.kv_lora_rank);
  count.bias += c.attention_bias ? c.num_hidden_layers * (q_rank + latent + c.hidden_size) : 0;
}

inline ParameterCount deepseek_v3_parameters(const DeepseekV3Config& c) {
  const std::int64_t dense = dense_layers(c);
  const std::int64_t sparse = c.num_hidden_layers - dense;
  const std::int64_t experts = c.n_routed_experts + c.n_shared_experts;
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  add_latent_attention(count, c);
  count.bias += c.mlp_bias ? dense * (2 * c.intermediate_size + c.hidden_size) : 0;
  count.linear += dense * gated_mlp_weights(c.hidden_size, c.intermediate_size);
  count.linear += sparse * (c.n_routed_experts * c.hidden_size +
                            experts * gated_mlp_weights(c.hidden_size, c.moe_intermediate_size));
  count.norm += (2 * c.num_hidden_layers + 1) * c.hidden_size;
  count.buffer = c.code->gate == LatentGate::sigmoid ? sparse * c.n_routed_experts : 0;
  return count;
}

/// What Megatron Bridge makes of the family. Without the module that predicts further tokens.
inline std::optional<megatron::Config> deepseek_in_megatron(const DeepseekV3Config& c) {
  const bool is_known = c.code->frame.embedding.scale == EmbeddingScale::none;
  if (!is_known || c.hidden_act != Activation::silu || c.attention_bias || c.mlp_bias) {
    return std::nullopt;
  }
  const bool is_sigmoid = c.code->gate == LatentGate::sigmoid;
  megatron::Config config{
      .layers = c.num_hidden_layers,
      .hidden = c.hidden_size,
      .heads = c.num_attention_heads,
      .kv_heads = c.num_attention_heads,
      .head_dim = c.qk_nope_head_dim + c.qk_rope_head_dim,
      .ffn = c.moe_intermediate_size,
      .vocab = c.vocab_size,
      .rms_norm = true,
      .gated = true,
      .tied = c.tie_word_embeddings,
      .experts = c.n_routed_experts,
      .top_k = c.num_experts_per_tok,
      .router = {.scores = is_sigmoid ? megatron::RouterScores::sigmoid
                                      : megatron::RouterScores::softmax_of_all,
                 .scales = true},
      .shared_ffn = c.n_shared_experts * c.moe_intermediate_size,
      .dense_layers = c.first_k_dense_replace,
      .dense_ffn = c.intermediate_size,
      .qk_norm = true,
      .latent = megatron::LatentAttention{.query_rank = c.q_lora_rank.value_or(0),
                                          .rank = c.kv_lora_rank,
                                          .plain_dim = c.qk_nope_head_dim,
                                          .rotary_dim = c.qk_rope_head_dim,
                                          .value_dim = c.v_head_dim},
      .attention_dropout = c.attention_dropout};
  if (c.n_routed_experts == 0) {
    config.ffn = c.intermediate_size;
  }
  if ((is_sigmoid || c.limits_groups) && c.n_group.value_or(1) > 1) {
    config.router.groups = *c.n_group;
    config.router.chosen_groups = c.topk_group.value_or(1);
  }
  return config;
}

inline constexpr auto kDeepseekV3 =
    family<DeepseekV3Config>({.name = "deepseek_v3",
                              .class_prefix = "DeepseekV3",
                              .fields = kDeepseekV3Fields,
                              .traits = {.gated_mlp = true, .rms_norm = true},
                              .parameters = untyped<deepseek_v3_parameters>,
                              .complete_shape = untyped<complete_deepseek_v3_shape>,
                              .check = untyped<check_deepseek_v3>,
                              .read_more = untyped<read_deepseek_v3>,
                              .write_more = untyped<write_rope_parameters<DeepseekV3Config>>,
                              .to_megatron = untyped<deepseek_in_megatron>});

inline const Family& deepseek_v3_family() {
  return kDeepseekV3;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context,
                                          const DeepseekV3Config& config);
}

}  // namespace highwater
