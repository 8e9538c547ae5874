// What the program knows of a model family, as one record: its name, the fields of its
// configuration, the formulas and checks of its own, and what its Python code can and cannot do. A
// family's header (families/) fills it in; whoever has a question asks the record and never for a
// particular family.
#pragma once

#include <any>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <boost/json/fwd.hpp>

#include "traces/release.hpp"
#include "workloads/plan/model/config_field.hpp"

namespace highwater {

class JsonFields;
class ModelProblems;
struct ModelShape;
struct ParameterCount;
struct ProfileRow;

namespace megatron {
struct Config;
}

// A family's header also declares its forward, make_model(), so that a family is that header, one
// row in families.hpp and the source of the forward (workloads/models). Nothing in this room calls
// it.
namespace models {
class LanguageModel;
}

namespace nn {
struct ModelContext;
}

/// When attention is a function that could be checkpointed alone, not code in a module's forward.
enum class AttentionFunction : std::uint8_t { always, unless_eager, never };

struct FamilyTraits {
  bool gated_mlp = false;         ///< unless a field of that role says so
  bool rms_norm = false;          ///< norms have a weight and no bias
  bool position_table = false;    ///< a table of learned positions, which bounds the sequence
  bool sdpa = true;               ///< can run torch's scaled_dot_product_attention,
  Release sdpa_since = {0, 0};    ///< from this release of transformers on
  bool torchtitan_style = false;  ///< no class of transformers: torchtitan's names, no labels
  bool tensor_parallel = false;   ///< the simulation has a DTensor plan for transformers' names
  bool pipeline_stages = false;   ///< the forward can be built in parts
  bool scaled_embedding = false;  ///< the token embedding is multiplied by a buffer (Gemma)
  AttentionFunction attention_function = AttentionFunction::always;
};

struct Family {
  std::string_view name;          ///< transformers' model_type
  std::string_view class_prefix;  ///< of the names in `architectures`; empty: no config.json has it
  std::span<const ConfigField> fields;
  FamilyTraits traits;

  ParameterCount (*parameters)(const std::any& config);

  /// PEFT's targets if a plan names none; empty where PEFT does not know the family
  /// (peft/utils/constants.py, TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING).
  std::span<const std::string_view> lora_targets;
  /// What its head and loss do by release of transformers; empty: always as the newest.
  std::span<const ProfileRow> releases;

  // Null where the fields say all there is.
  void (*complete_shape)(const std::any& config, ModelShape& shape);
  void (*check)(const std::any& config, ModelProblems& problems);
  /// What the generator lacks of a configuration that is fine for transformers.
  void (*gaps)(const std::any& config, ModelProblems& problems);
  void (*read_more)(std::any& config, JsonFields& fields);       ///< of a config.json
  void (*read_more_flat)(std::any& config, JsonFields& fields);  ///< of a flat config
  /// The inverse of read_more, for configurations that are from no file.
  void (*write_more)(const std::any& config, boost::json::object& object);
  /// Megatron-Core's GPTModel of this config; null or absent: it has no such model.
  std::optional<megatron::Config> (*to_megatron)(const std::any& config);
  /// What torchtitan's decoder cannot do of this config; null: it has no such model.
  std::vector<std::string> (*torchtitan_problems)(const std::any& config);
  /// The same of torchtune's.
  std::vector<std::string> (*torchtune_problems)(const std::any& config);

  std::any (*defaults)();
  bool (*are_equal)(const std::any& first, const std::any& second);
};

/// A family whose configuration is a `Config`.
template <class Config>
struct FamilyOf : Family {
  using ConfigType = Config;
};

/// `function` of a typed config as a member of Family wants it.
template <auto function>
struct Untyped;

template <class Result, class Config, class... More, Result (*function)(Config&, More...)>
struct Untyped<function> {
  using Any = std::conditional_t<std::is_const_v<Config>, const std::any, std::any>;

  static Result call(Any& config, More... more) {
    return function(std::any_cast<Config&>(config), static_cast<More&&>(more)...);
  }
};

template <auto function>
inline constexpr auto untyped = &Untyped<function>::call;

/// `family` with what every configuration has: defaults, those of the struct unless others are
/// given, and equality.
template <class Config>
constexpr FamilyOf<Config> family(
    Family family, std::any (*defaults)() = [] { return std::any(Config{}); }) {
  family.defaults = defaults;
  family.are_equal = [](const std::any& first, const std::any& second) {
    return std::any_cast<const Config&>(first) == std::any_cast<const Config&>(second);
  };
  return {family};
}

}  // namespace highwater
