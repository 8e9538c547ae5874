#include "workloads/plan/model/other_model.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <numeric>

#include <boost/json.hpp>

#include "traces/error.hpp"
#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// Models of text and something else keep the text's sizes one level down.
const json::object& text_part(const json::object& config) {
  for (const std::string_view name : {"text_config", "llm_config", "language_config"}) {
    const json::value* const part = config.if_contains(name);
    if (part != nullptr && part->is_object()) {
      return part->get_object();
    }
  }
  return config;
}

/// The first of `names` that is a number, else 0.
std::int64_t size_called(const json::object& config,
                         std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const json::value* const value = config.if_contains(name);
    if (value != nullptr && value->is_int64()) {
      return value->get_int64();
    }
  }
  return 0;
}

void complete_other_shape(const OtherConfig& config, ModelShape& shape) {
  shape = config.shape;
}

std::int64_t listed_elements(const std::vector<ListedParameter>& parameters) {
  std::int64_t elements = 0;
  for (const ListedParameter& parameter : parameters) {
    elements += parameter.elements();
  }
  return elements;
}

/// Those of a list; else of a decoder of these sizes with gated MLPs and an untied head: to compare
/// times with, no more.
ParameterCount other_parameters(const OtherConfig& config) {
  if (!config.parameters.empty()) {
    return {.linear = listed_elements(config.parameters)};
  }
  const ModelShape& shape = config.shape;
  ParameterCount count = vocabulary_parameters(shape.vocab, shape.hidden, false);
  const std::int64_t attention = 2 * shape.hidden * shape.head_dim * (shape.heads + shape.kv_heads);
  count.linear += shape.layers * (attention + 3 * shape.hidden * shape.ffn);
  return count;
}

/// Libraries whose models are named as "timm:resnet50".
constexpr std::array<std::string_view, 3> kLibraries{"timm", "torchvision", "diffusers"};

constexpr std::string_view kBeforeFunction = ".py:";

/// timm's own checkpoints on the hub ("timm/resnet50.a1_in1k") are made by timm under that name.
std::string as_library_model(const std::string& text) {
  constexpr std::string_view kOwner = "timm/";
  return text.starts_with(kOwner) ? "timm:" + text.substr(kOwner.size()) : text;
}

bool names_library_model(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && colon + 1 < text.size() &&
         std::ranges::count(kLibraries, text.substr(0, colon)) > 0;
}

/// With the whole path: Python runs elsewhere.
std::string with_whole_path(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::filesystem::path file = text.substr(0, colon);
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(file, unreadable)) {
    throw InputError(file.string(), "", "no such file", "give FILE.py:function");
  }
  return std::filesystem::absolute(file).lexically_normal().string() + text.substr(colon);
}

constexpr auto kOther = family<OtherConfig>({.name = "other",
                                             .parameters = untyped<other_parameters>,
                                             .complete_shape = untyped<complete_other_shape>});

}  // namespace

std::int64_t ListedParameter::elements() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

const Family& other_family() {
  return kOther;
}

bool lists_parameters(const ModelConfig& config) {
  return is_other(config) && !config.as<OtherConfig>().parameters.empty();
}

bool names_file(const ModelConfig& config) {
  return is_other(config) &&
         config.as<OtherConfig>().python.find(kBeforeFunction) != std::string::npos;
}

std::optional<std::string> python_file_of(const ModelConfig& config) {
  if (!names_file(config)) {
    return std::nullopt;
  }
  const std::string& python = config.as<OtherConfig>().python;
  return python.substr(0, python.rfind(':'));
}

bool names_python_function(std::string_view text) {
  const std::size_t function = text.rfind(kBeforeFunction);
  return function != std::string_view::npos && function > 0 &&
         function + kBeforeFunction.size() < text.size();
}

bool names_python_model(std::string_view text) {
  return names_python_function(text) || names_library_model(as_library_model(std::string(text)));
}

ModelSpec python_model(const std::string& given) {
  const std::string text = as_library_model(given);
  OtherConfig config{.model_type = text, .shape = {}};
  config.python = names_library_model(text) ? text : with_whole_path(text);
  const std::string name =
      names_library_model(text) ? text : std::filesystem::path(text).filename().string();
  return {.name = name, .source = text, .config = std::move(config)};
}

OtherConfig read_other(const json::object& config) {
  const json::object& sizes = text_part(config);
  OtherConfig other;
  const json::value* const type = config.if_contains("model_type");
  other.model_type = type != nullptr && type->is_string() ? std::string(type->get_string()) : "";
  ModelShape& shape = other.shape;
  shape.layers = size_called(sizes, {"num_hidden_layers", "n_layer", "num_layers", "n_layers"});
  shape.hidden = size_called(sizes, {"hidden_size", "n_embd", "d_model", "dim"});
  shape.heads = size_called(sizes, {"num_attention_heads", "n_head", "num_heads", "n_heads"});
  shape.kv_heads = size_called(sizes, {"num_key_value_heads", "num_attention_heads", "n_head"});
  shape.ffn = size_called(sizes, {"intermediate_size", "ffn_dim", "d_ff", "n_inner"});
  shape.vocab = size_called(sizes, {"vocab_size"});
  shape.head_dim = size_called(sizes, {"head_dim"});
  if (shape.head_dim == 0 && shape.heads != 0) {
    shape.head_dim = shape.hidden / shape.heads;
  }
  return other;
}

}  // namespace highwater
