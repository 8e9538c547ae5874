#include "workloads/plan/catalog/hf_config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/overloaded.hpp"
#include "workloads/plan/catalog/flat_config.hpp"
#include "workloads/plan/catalog/parameter_list.hpp"
#include "workloads/plan/model/classification.hpp"
#include "workloads/plan/model/families/all_families.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/published_weights.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

void clear_if_null(const ConfigField& field, const JsonFields& fields, const FieldPlace& place) {
  if (field.details.null_clears && fields.is_null(field.name)) {
    std::get<std::optional<std::int64_t>*>(place)->reset();
  }
}

/// transformers' configurations are strict dataclasses: None only where the type says so.
bool may_be_null(const ConfigField& field, const FieldPlace& place) {
  return field.details.null_clears || std::holds_alternative<std::optional<std::int64_t>*>(place);
}

void refuse_null(const ConfigField& field, JsonFields& fields, const FieldPlace& place) {
  if (fields.is_null(field.name) && !may_be_null(field, place)) {
    fields.add_problem(field.name,
                       "is null, which transformers refuses; give its value, or delete the key for "
                       "the family's default");
  }
}

void read_field(const ConfigField& field, JsonFields& fields, std::any& config) {
  const FieldPlace place = field.place(config);
  clear_if_null(field, fields, place);
  refuse_null(field, fields, place);
  std::visit(
      [&](auto* out) {
        if (field.details.is_required) {
          fields.require(*out, field.name);
        } else {
          fields.read(*out, field.name, field.details.alias);
        }
      },
      place);
}

std::vector<const Family*> families_with_classes() {
  std::vector<const Family*> families;
  std::ranges::copy_if(all_families(), std::back_inserter(families),
                       [](const Family* family) { return !family->class_prefix.empty(); });
  return families;
}

template <class IsMeant>
const Family* find_family_if(IsMeant is_meant) {
  const auto families = families_with_classes();
  const auto found = std::ranges::find_if(families, is_meant);
  return found == families.end() ? nullptr : *found;
}

/// The first name in `architectures`, or empty.
std::string class_name(JsonFields& fields) {
  const json::array* const classes = fields.array("architectures");
  if (classes == nullptr || classes->empty() || !classes->front().is_string()) {
    return {};
  }
  const json::string& name = classes->front().get_string();
  return {name.data(), name.size()};
}

/// Families without a class of transformers are among them: NeMo's GPT, whose sizes have no other
/// form (--from).
const Family* find_family_named(std::string_view name) {
  const auto families = all_families();
  const auto found = std::ranges::find_if(families, [&](const Family* family) {
    return family->name == name && !family->traits.torchtitan_style;
  });
  return found == families.end() ? nullptr : *found;
}

/// The family that model_type names, or else the first of `architectures`.
const Family* find_family(JsonFields& fields, std::string& named) {
  named = fields.text("model_type");
  if (!named.empty()) {
    return find_family_named(named);
  }
  named = class_name(fields);
  return find_family_if(
      [&](const Family* family) { return named.starts_with(family->class_prefix); });
}

/// What to do with weights that were published in fewer bits.
struct PublishedFormat {
  std::string_view method;  ///< quant_method (transformers 5.23, utils/quantization_config.py)
  std::string_view what_to_do;
};

constexpr std::string_view kBaseModel =
    "the simulation has no adapters beside them: give the config.json of the unquantised model "
    "with "
    "--quantize nf4 and --lora, or record the script (highwater record)";

constexpr std::array kPublishedFormats{
    PublishedFormat{"gptq", kBaseModel}, PublishedFormat{"awq", kBaseModel},
    PublishedFormat{"mxfp4",
                    "transformers trains these weights after it has made them bf16 "
                    "(Mxfp4Config(dequantize=True)): delete the field"}};

std::string_view what_to_do_with(std::string_view method) {
  const auto* const found = std::ranges::find(kPublishedFormats, method, &PublishedFormat::method);
  return found == kPublishedFormats.end() ? "record the script, or delete the field to train the "
                                            "model in the plan's precision"
                                          : found->what_to_do;
}

/// Weights published in fp8 are trained in the precision of the plan; bitsandbytes' are read as
/// they are; other methods replace layers.
void check_published(JsonFields& fields) {
  auto config = fields.child("quantization_config");
  if (!config) {
    return;
  }
  const std::string method = config->text("quant_method");
  if (method == kBitsAndBytes) {
    static_cast<void>(read_bitsandbytes(*config));
    return;
  }
  if (method != "fp8") {
    fields.add_problem(
        "quantization_config",
        fmt::format("has weights by {}; {}", method.empty() ? "no known method" : method,
                    what_to_do_with(method)));
  }
}

bool has_part(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

constexpr std::int64_t kMostLabels = 1'000'000;  // as --num-labels takes them

/// Outputs of a head that sorts sequences: num_labels, or the number of names for them, or 2
/// (transformers 5.24, configuration_utils.py PreTrainedConfig.num_labels).
int number_of_labels(JsonFields& fields) {
  std::int64_t given = 0;
  fields.read(given, "num_labels");
  const json::value* const names = fields.find("id2label");
  const bool is_named = names != nullptr && names->is_object();
  const std::int64_t named = is_named ? std::ssize(names->get_object()) : 2;
  return static_cast<int>(std::min(given > 0 ? given : named, kMostLabels));
}

/// Whether the loss is a cross entropy of classes: of one class it is the mean of squares, and
/// several at a time have a loss of their own (loss/loss_utils.py ForSequenceClassificationLoss).
bool sorts_into_classes(JsonFields& fields) {
  const std::string kind = fields.text("problem_type");
  return number_of_labels(fields) > 1 && (kind.empty() || kind == "single_label_classification");
}

struct HeadOfFamily {
  std::string_view family;
  std::string_view head;
};

/// What the names of the classes have whose head and loss the generator has, where it is not
/// ForCausalLM or, as in GPT2LMHeadModel, LMHead.
constexpr std::array kOtherHeads{HeadOfFamily{"bert", "ForMaskedLM"},
                                 HeadOfFamily{"t5", "ForConditionalGeneration"},
                                 HeadOfFamily{"t5", "WithLMHead"}};  // its name before 4.0

bool is_language_model(std::string_view family, std::string_view name) {
  const bool has_other =
      std::ranges::find(kOtherHeads, family, &HeadOfFamily::family) != kOtherHeads.end();
  if (!has_other) {
    return has_part(name, "ForCausalLM") || has_part(name, "LMHead");
  }
  return std::ranges::any_of(kOtherHeads, [&](const HeadOfFamily& row) {
    return row.family == family && has_part(name, row.head);
  });
}

/// The labels of the class that the file names: 0 for the language model. Another head is a gap.
int read_head(const Family& family, JsonFields& fields) {
  const std::string name = class_name(fields);
  if (name.empty() || is_language_model(family.name, name)) {
    return 0;
  }
  if (name.ends_with("ForSequenceClassification") && can_classify(family.name) &&
      sorts_into_classes(fields)) {
    return number_of_labels(fields);
  }
  fields.add_gap(
      "architectures",
      fmt::format("names {}, and of this family the simulation has only the model with a "
                  "language-model head (for that, delete the key)",
                  name));
  return 0;
}

void throw_problems(std::string_view source, const std::vector<std::string>& problems) {
  if (!problems.empty()) {
    throw InputError(source, "", fmt::format("{}", fmt::join(problems, "; ")),
                     "correct the model description");
  }
}

[[noreturn]] void throw_unknown_family(std::string_view source, const std::string& named) {
  throw InputError(source, "model_type",
                   named.empty() ? "is missing" : "'" + named + "' is not a covered family",
                   "give one of " + covered_families());
}

/// A field without a name is read from another key.
bool is_given(const ConfigField& field, const JsonFields& fields) {
  const auto has = [&](std::string_view key) {
    return fields.find(key) != nullptr || fields.is_null(key);
  };
  return field.name.empty() || has(field.name) ||
         (!field.details.alias.empty() && has(field.details.alias));
}

/// Empty for a value that is absent: what follows from other fields then.
std::string value_text(const FieldValue& value) {
  return std::visit(
      Overloaded{[](const std::optional<std::int64_t>& size) {
                   return size ? std::to_string(*size) : std::string();
                 },
                 [](Activation activation) { return std::string(to_string(activation)); },
                 [](auto plain) { return fmt::format("{}", plain); }},
      value);
}

/// The keys that a config.json leaves to its family, with the values: "hidden_size 4096".
std::vector<std::string> left_to_family(const Family& family, const JsonFields& fields) {
  std::vector<std::string> left;
  const ModelConfig defaults(family);
  for (const ConfigField& field : family.fields) {
    const std::string standard = value_text(field.value(defaults.value()));
    const std::string line = fmt::format("{} {}", field.name, standard);
    const bool is_new = std::ranges::find(left, line) == left.end();  // a key may set two fields
    if (!is_given(field, fields) && !standard.empty() && is_new) {
      left.push_back(line);
    }
  }
  return left;
}

/// A model that only real PyTorch can run; `gaps`: why, where its family has a generator.
ModelSpec read_without_family(const json::object& object, std::string_view source,
                              const std::vector<std::string>& gaps = {}) {
  OtherConfig config = read_other(object);
  config.gap = fmt::format("{}", fmt::join(gaps, "; "));
  return {config.model_type, std::string(source), std::move(config), {}, json::serialize(object)};
}

/// What the family's generator lacks of this configuration.
void add_family_gaps(const ModelConfig& config, std::vector<std::string>& gaps) {
  if (config.family().gaps == nullptr) {
    return;
  }
  ModelProblems found;
  config.family().gaps(config.value(), found);
  std::ranges::copy(std::move(found).take(), std::back_inserter(gaps));
}

/// Whether a model without a family of this program is one.
enum class Coverage { families, any };

ModelSpec read_hf(const json::object& object, const std::string& path, std::string_view source,
                  Coverage coverage = Coverage::families) {
  std::vector<std::string> problems;
  std::vector<std::string> gaps;
  JsonFields fields(object, path, problems, gaps);
  std::string named;
  const Family* const family = find_family(fields, named);
  if (family == nullptr) {
    throw_problems(source, problems);
    if (coverage == Coverage::families || named.empty() || !object.contains("model_type")) {
      throw_unknown_family(source, named);
    }
    return read_without_family(object, source);
  }
  check_published(fields);
  ModelSpec spec{fields.text("_name_or_path"), std::string(source), read_config(*family, fields),
                 left_to_family(*family, fields)};
  spec.labels = read_head(*family, fields);
  add_family_gaps(spec.config, gaps);
  if (coverage == Coverage::any && problems.empty() && !gaps.empty() &&
      object.contains("model_type")) {
    return read_without_family(object, source, gaps);
  }
  std::ranges::copy(gaps, std::back_inserter(problems));
  throw_problems(source, problems);
  if (spec.name.empty()) {
    spec.name = family->name;
  }
  return spec;
}

/// The config of a decoder of the project's own, which names no model_type.
ModelSpec read_own_decoder(const Family& family, const json::object& config,
                           std::string_view source) {
  std::vector<std::string> problems;
  JsonFields fields(config, "config.", problems);
  ModelSpec spec{std::string(family.name), std::string(source), read_config(family, fields), {}};
  throw_problems(source, problems);
  return spec;
}

/// {family, source, config}: the `model` of a recording.
ModelSpec read_recorded(const json::object& object, std::string_view source) {
  const json::value& config = object.at("config");
  if (!config.is_object()) {
    throw InputError(source, "config", "not an object", "give the model's config.json there");
  }
  const json::value& name = object.at("family");
  const Family* const own = find_family_if([&](const Family* family) {
    return family->traits.torchtitan_style && name == json::string_view(family->name);
  });
  return own != nullptr ? read_own_decoder(*own, config.get_object(), source)
                        : read_hf(config.get_object(), "config.", source);
}

/// All of a file, unless it is too large for a config: a device or a pipe may have no end.
std::string read_config_text(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{16} << 20;
  const std::unique_ptr<ByteSource> source = open_source(path);
  std::string text;
  std::array<std::byte, 65536> buffer{};
  while (const std::size_t count = source->read(buffer)) {
    text.append(reinterpret_cast<const char*>(buffer.data()), count);
    if (text.size() > kLargest) {
      throw InputError(path, "", "is larger than 16 MiB", "give a config.json");
    }
  }
  return text;
}

json::value parse_config(std::string_view text, std::string_view source) {
  json::stream_parser parser;
  json::error_code error;
  std::size_t position = parser.write_some(text, error);
  position = std::min(text.find_first_not_of(" \t\r\n", position), text.size());
  if (!error && position == text.size()) {
    parser.finish(error);
  }
  if (error || position < text.size()) {
    throw InputError(source, fmt::format("byte {}", position),
                     error ? "not JSON (" + error.message() + ")" : "more than one JSON value",
                     "give a config.json or a flat model description");
  }
  return parser.release();
}

ModelSpec any_model(const json::value& value, std::string_view source, Coverage coverage) {
  const json::object* const object = value.if_object();
  if (object == nullptr) {
    throw InputError(source, "", "not a JSON object",
                     "give a config.json or a flat model description");
  }
  if (is_parameter_list(*object)) {
    return read_parameter_list(*object, source);
  }
  if (object->contains("family") && object->contains("config")) {
    return read_recorded(*object, source);
  }
  if (object->contains("family") && !object->contains("model_type")) {
    return read_flat_config(*object, source);
  }
  ModelSpec spec = read_hf(*object, "", source, coverage);
  spec.config_text = json::serialize(*object);
  return spec;
}

}  // namespace

ModelConfig read_config(const Family& family, JsonFields& fields) {
  ModelConfig config(family);
  for (const ConfigField& field : family.fields) {
    if (!field.name.empty()) {
      read_field(field, fields, config.value());
    }
  }
  if (family.read_more != nullptr) {
    family.read_more(config.value(), fields);
  }
  return config;
}

ModelSpec model_from_json(const json::value& value, std::string_view source) {
  return any_model(value, source, Coverage::families);
}

std::string why_not_covered(const ModelSpec& spec) {
  const auto& config = spec.config.as<OtherConfig>();
  if (lists_parameters(spec.config)) {
    return fmt::format(
        "{} is a list of parameters, which says nothing of what a forward allocates; give the "
        "model itself (a name, a config.json, or with --engine torch FILE.py:function). 'highwater "
        "estimate' takes the list",
        spec.name);
  }
  if (!config.python.empty()) {
    return fmt::format(
        "{} is Python, which only --engine torch runs; without it, give a model of {}", spec.name,
        covered_families());
  }
  if (!config.gap.empty()) {
    return fmt::format("model_type '{}' is covered, but not this configuration: {}",
                       config.model_type, config.gap);
  }
  return fmt::format(
      "model_type '{}' is none of the families that the model covers ('highwater models' shows "
      "them)",
      config.model_type);
}

std::string covered_families() {
  std::vector<std::string_view> names;
  for (const Family* family : families_with_classes()) {
    if (!family->traits.torchtitan_style) {  // which only recordings name
      names.push_back(family->name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

ModelSpec model_from_text(std::string_view text, std::string_view source) {
  return any_model(parse_config(text, source), source, Coverage::any);
}

ModelSpec read_model(const std::string& path) {
  ModelSpec spec = model_from_text(read_config_text(path), path);
  const std::string stem = std::filesystem::path(path).stem().string();
  const bool unnamed = spec.name == family_name(spec);
  if (unnamed && stem != "config") {
    spec.name = stem;
  }
  return spec;
}

}  // namespace highwater
