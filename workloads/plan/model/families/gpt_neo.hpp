// GPT-Neo: the configuration and its defaults (transformers 5.12, configuration_gpt_neo.py),
// restricted to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

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

constexpr std::int64_t inner_dim_of(const GptNeoConfig& config) {
  return config.intermediate_size.value_or(4 * config.hidden_size);
}

inline GptNeoAttention attention_of(const GptNeoConfig& config, std::int64_t layer) {
  if (config.attention_layers.empty()) {
    return layer % 2 == 0 ? GptNeoAttention::global : GptNeoAttention::local;
  }
  return config.attention_layers[static_cast<std::size_t>(layer)];
}

inline constexpr std::array kGptNeoFields{
    field<&GptNeoConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&GptNeoConfig::hidden_size>("hidden_size", FieldRole::hidden),
    field<&GptNeoConfig::max_position_embeddings>("max_position_embeddings",
                                                  FieldRole::max_positions),
    field<&GptNeoConfig::num_layers>("num_layers", FieldRole::layers,
                                     {.alias = "num_hidden_layers"}),
    field<&GptNeoConfig::num_heads>("num_heads", FieldRole::heads,
                                    {.alias = "num_attention_heads"}),
    field<&GptNeoConfig::intermediate_size>("intermediate_size", FieldRole::ffn),
    field<&GptNeoConfig::window_size>("window_size", FieldRole::other_size),
    field<&GptNeoConfig::activation_function>("activation_function"),
    field<&GptNeoConfig::resid_dropout>("resid_dropout", FieldRole::residual_dropout),
    field<&GptNeoConfig::embed_dropout>("embed_dropout", FieldRole::embedding_dropout),
    field<&GptNeoConfig::attention_dropout>("attention_dropout", FieldRole::attention_dropout),
    field<&GptNeoConfig::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
};

const Family& family_of(const GptNeoConfig& config);

/// Appends the kinds named in `names`; false if one of them is unknown.
inline bool append_attention(std::vector<GptNeoAttention>& layers,
                             const boost::json::array& names) {
  for (const boost::json::value& name : names) {
    if (name != "global" && name != "local") {
      return false;
    }
    layers.push_back(name == "global" ? GptNeoAttention::global : GptNeoAttention::local);
  }
  return true;
}

/// [[["global", "local"], 6]]: the kinds in turn, so many times.
inline bool append_attention_types(std::vector<GptNeoAttention>& layers,
                                   const boost::json::array& types) {
  constexpr std::int64_t kMostRepeats = 100000;
  for (const boost::json::value& item : types) {
    const boost::json::array* const pair = item.if_array();
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

/// As transformers writes them: a list of the kinds of all layers, once.
inline void write_attention_types(const GptNeoConfig& config, boost::json::object& object) {
  boost::json::array kinds;
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
    kinds.emplace_back(attention_of(config, layer) == GptNeoAttention::local ? "local" : "global");
  }
  boost::json::array times{std::move(kinds), 1};
  boost::json::array types;  // of braces around one array compilers make different things
  types.emplace_back(std::move(times));
  object["attention_types"] = std::move(types);
}

inline void read_attention_layers(GptNeoConfig& config, JsonFields& fields) {
  if (const boost::json::array* const layers = fields.array("attention_layers")) {
    if (!append_attention(config.attention_layers, *layers)) {
      fields.add_problem("attention_layers", "must list 'global' and 'local'");
    }
  } else if (const boost::json::array* const types = fields.array("attention_types")) {
    if (!append_attention_types(config.attention_layers, *types)) {
      fields.add_problem("attention_types", "must look like [[[\"global\", \"local\"], 6]]");
    }
  }
}

inline void check_gpt_neo(const GptNeoConfig& config, ModelProblems& problems) {
  const auto kinds = static_cast<std::int64_t>(config.attention_layers.size());
  if (kinds != 0 && kinds != config.num_layers) {
    problems.add("attention_types describe {} layers, but num_layers is {}; make them equal", kinds,
                 config.num_layers);
  }
}

inline ParameterCount gpt_neo_parameters(const GptNeoConfig& c) {
  const std::int64_t ffn = inner_dim_of(c);
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.embedding += c.max_position_embeddings * c.hidden_size;
  add_square_layers(count, c.num_layers, c.hidden_size, ffn, 2);
  count.bias = c.num_layers * (2 * c.hidden_size + ffn);  // none on q, k, v
  count.norm += 2 * c.hidden_size;
  return count;
}

inline constexpr std::array<std::string_view, 2> kGptNeoLoraTargets{"q_proj", "v_proj"};

inline constexpr auto kGptNeo =
    family<GptNeoConfig>({.name = "gpt_neo",
                          .class_prefix = "GPTNeoFor",
                          .fields = kGptNeoFields,
                          .traits = {.position_table = true, .sdpa = false},
                          .parameters = untyped<gpt_neo_parameters>,
                          .lora_targets = kGptNeoLoraTargets,
                          .releases = kGptNeoReleases,
                          .check = untyped<check_gpt_neo>,
                          .read_more = untyped<read_attention_layers>,
                          .write_more = untyped<write_attention_types>});

inline const Family& family_of(const GptNeoConfig& /*config*/) {
  return kGptNeo;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const GptNeoConfig& config);
}

}  // namespace highwater
