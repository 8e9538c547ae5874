#include "workloads/plan/model/published_weights.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json.hpp>

namespace highwater {
namespace {

namespace json = boost::json;

constexpr std::string_view kField = "quantization_config";

using TypeWord = std::pair<std::string_view, std::string_view>;

/// A type as the options name it: "bf16" of "bfloat16"; a problem if they do not.
void read_type(JsonFields& config, std::string_view key, std::string& word) {
  constexpr std::array<TypeWord, 4> kTypes{
      {{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}, {"uint8", "uint8"}}};
  const std::string name = config.text(key);
  const auto* const found = std::ranges::find(kTypes, name, &TypeWord::first);
  if (found != kTypes.end()) {
    word = found->second;
  } else if (!name.empty()) {
    config.add_problem(key, "is " + name + "; give bfloat16, float16, float32 or uint8");
  }
}

std::string format_in(JsonFields& config) {
  bool is_4bit = false;
  bool is_8bit = false;
  config.read(is_4bit, "load_in_4bit", "_load_in_4bit");
  config.read(is_8bit, "load_in_8bit", "_load_in_8bit");
  if (is_4bit) {
    return config.text("bnb_4bit_quant_type") == "nf4" ? "nf4" : "fp4";
  }
  return is_8bit ? "int8" : "";
}

// quantizers/base.py get_modules_to_not_convert: the head is left out where nothing is named.
void read_skipped(JsonFields& config, PublishedWeights& weights) {
  const json::array* const names = config.array("llm_int8_skip_modules");
  if (names == nullptr) {
    return;
  }
  for (const json::value& name : *names) {
    if (name.is_string()) {
      weights.unquantized.emplace_back(name.get_string());
    }
  }
  weights.quantizes_head = std::ranges::none_of(weights.unquantized, [](const std::string& name) {
    return name.find("head") != std::string::npos || name == "embed_out";
  });
}

}  // namespace

std::optional<PublishedWeights> read_bitsandbytes(JsonFields& config) {
  PublishedWeights weights;
  weights.format = format_in(config);
  if (weights.format.empty()) {
    return std::nullopt;
  }
  if (weights.format != "int8") {
    config.read(weights.double_quant, "bnb_4bit_use_double_quant");
    read_type(config, "bnb_4bit_quant_storage", weights.storage);
    read_type(config, "bnb_4bit_compute_dtype", weights.compute_dtype);
  }
  read_skipped(config, weights);
  return weights;
}

std::optional<PublishedWeights> published_weights(const ModelSpec& spec) {
  if (spec.config_text.find(kField) == std::string::npos) {
    return std::nullopt;
  }
  const json::value config = json::parse(spec.config_text);
  std::vector<std::string> problems;  // reported where the file was read
  JsonFields fields(config.get_object(), "", problems);
  auto field = fields.child(kField);
  return field && field->text("quant_method") == kBitsAndBytes ? read_bitsandbytes(*field)
                                                               : std::nullopt;
}

}  // namespace highwater
