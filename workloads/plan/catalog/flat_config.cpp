#include "workloads/plan/catalog/flat_config.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "workloads/plan/model/families/all_families.hpp"
#include "workloads/plan/model/json_fields.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// A key and the role that gives it to a family's field.
struct Key {
  std::string_view name;
  FieldRole role;
  bool is_required = false;
};

constexpr std::array kKeys{
    Key{"layers", FieldRole::layers, true},
    Key{"hidden", FieldRole::hidden, true},
    Key{"heads", FieldRole::heads, true},
    Key{"vocab", FieldRole::vocab, true},
    Key{"kv_heads", FieldRole::kv_heads},
    Key{"kv_heads", FieldRole::unused_kv_heads},
    Key{"head_dim", FieldRole::head_dim},
    Key{"ffn_hidden", FieldRole::ffn},
    Key{"max_positions", FieldRole::max_positions},
    Key{"embed_proj_dim", FieldRole::embedding_width},
    Key{"rotary_dim", FieldRole::rotary_dim},
    Key{"tied_embeddings", FieldRole::tied},
    Key{"attention_dropout", FieldRole::attention_dropout},
    Key{"hidden_dropout", FieldRole::residual_dropout},
    Key{"hidden_dropout", FieldRole::dropout},
    Key{"embedding_dropout", FieldRole::embedding_dropout},
};

/// Further keys that decide something: of the description itself, or read by single families.
constexpr std::array<std::string_view, 7> kOtherKeys{"name", "family", "norm_placement", "moe",
                                                     "mla",  "source", "hf_id"};

/// Keys of the reference data that repeat what the family decides, or comment.
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

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys(kOtherKeys.begin(), kOtherKeys.end());
  std::ranges::transform(kKeys, std::back_inserter(keys), &Key::name);
  return keys;
}

void report_unknown(JsonFields& fields, const json::object& object) {
  const std::vector<std::string_view> known = known_keys();
  for (const auto& member : object) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::ranges::find(known, key) == known.end() &&
        std::ranges::find(kRemarks, key) == kRemarks.end()) {
      const auto nearest = std::ranges::min_element(
          known, {}, [&](std::string_view name) { return edit_distance(key, name); });
      fields.add_problem(key, fmt::format("is not a known field (nearest: '{}')", *nearest));
    }
  }
}

/// The key of `field`; empty if a flat config says nothing about it.
std::string_view key_of(const ConfigField& field) {
  if (!field.details.own_key.empty()) {
    return field.details.own_key;
  }
  const auto* const key = std::ranges::find(kKeys, field.role, &Key::role);
  return key == kKeys.end() ? std::string_view{} : key->name;
}

/// An optional size that is left out is derived from the others, even if the family's default is a
/// number; other fields keep their default.
bool is_derived_if_absent(FieldRole role) {
  return role == FieldRole::kv_heads || role == FieldRole::unused_kv_heads ||
         role == FieldRole::head_dim || role == FieldRole::ffn ||
         role == FieldRole::embedding_width;
}

void read_field(const ConfigField& field, std::string_view key, bool is_required,
                JsonFields& fields, std::any& config) {
  const FieldPlace place = field.place(config);
  if (auto* const* size = std::get_if<std::optional<std::int64_t>*>(&place);
      size != nullptr && is_derived_if_absent(field.role)) {
    (*size)->reset();
  }
  std::visit(
      [&](auto* out) {
        if (is_required) {
          fields.require(*out, key);
        } else {
          fields.read(*out, key);
        }
      },
      place);
}

/// The fields of the flat object itself, in the order of kKeys.
void read_flat_fields(const Family& family, JsonFields& fields, std::any& config) {
  for (const Key& key : kKeys) {
    for (const ConfigField& field : family.fields) {
      const bool is_meant = field.details.own_key.empty() ? field.role == key.role
                                                          : field.details.own_key == key.name;
      if (is_meant) {
        read_field(field, key.name, key.is_required, fields, config);
      }
    }
  }
}

/// The fields of a nested object: those whose key is "moe.num_experts" and the like.
void read_section(const Family& family, std::string_view section, JsonFields& fields,
                  std::any& config) {
  auto inner = fields.child(section);
  if (!inner) {
    return;
  }
  for (const ConfigField& field : family.fields) {
    const std::string_view key = key_of(field);
    if (key.starts_with(section) && key.substr(section.size()).starts_with('.')) {
      read_field(field, key.substr(section.size() + 1), false, *inner, config);
    }
  }
}

ModelConfig read_flat(const Family& family, JsonFields& fields) {
  ModelConfig config(family);
  read_flat_fields(family, fields, config.value());
  read_section(family, "moe", fields, config.value());
  read_section(family, "mla", fields, config.value());
  if (family.read_more_flat != nullptr) {
    family.read_more_flat(config.value(), fields);
  }
  return config;
}

const Family& find_own_family(const std::string& name, std::string_view source) {
  const auto families = all_families();
  const auto found =
      std::ranges::find(families, std::string_view(name), [](const Family* f) { return f->name; });
  if (found == families.end()) {
    std::vector<std::string_view> names;
    std::ranges::transform(families, std::back_inserter(names),
                           [](const Family* family) { return family->name; });
    throw InputError(source, "family", "'" + name + "' is not a known family",
                     fmt::format("give one of {}", fmt::join(names, ", ")));
  }
  return **found;
}

}  // namespace

ModelSpec read_flat_config(const json::object& object, std::string_view source) {
  std::vector<std::string> problems;
  JsonFields fields(object, "", problems);
  const Family& family = find_own_family(fields.text("family"), source);
  report_unknown(fields, object);
  ModelSpec spec{fields.text("name"), fields.text("source"), read_flat(family, fields)};
  if (!problems.empty()) {
    throw InputError(source, "", fmt::format("{}", fmt::join(problems, "; ")),
                     "correct the model description");
  }
  spec.name = spec.name.empty() ? std::string(family.name) : spec.name;
  spec.source = spec.source.empty() ? std::string(source) : spec.source;
  return spec;
}

}  // namespace highwater
