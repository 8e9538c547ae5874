#include "workloads/plan/options/peft_axis.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "workloads/json/json_document.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::axes {
namespace {

namespace json = boost::json;

constexpr const char* kRemedy =
    "give an adapter_config.json, as PEFT's save_pretrained() writes it";

bool is_text(std::string_view text) {
  return text.starts_with('{');
}

/// The file that `name` means: of a folder, as save_pretrained() writes one, its configuration.
std::string file_of(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_directory(name, ignored)
             ? (std::filesystem::path(name) / "adapter_config.json").string()
             : name;
}

json::object parsed(const std::string& text, const std::string& source) {
  json::value value = parse_json_document(text, source, kRemedy);
  const json::value* const kind =
      value.is_object() ? value.get_object().if_contains("peft_type") : nullptr;
  if (kind == nullptr || !kind->is_string()) {
    throw InputError(source, "", "is no configuration of PEFT: it has no \"peft_type\"", kRemedy);
  }
  return std::move(value.get_object());
}

/// Keys that change no tensor: names, scales, and the state of a saved adapter.
/// peft 0.21, config.py and tuners/lora/config.py; `megatron_core` and `qalora_group_size` count
/// with `megatron_config` and `use_qalora` only, `layers_pattern` with `layers_to_transform`.
constexpr std::array<std::string_view, 15> kWithoutMemory{
    "alpha_pattern",  "auto_mapping",      "base_model_name_or_path",
    "fan_in_fan_out", "inference_mode",    "layers_pattern",
    "lora_alpha",     "megatron_core",     "peft_type",
    "peft_version",   "qalora_group_size", "revision",
    "runtime_config", "task_type",         "use_rslora"};

/// Keys that options say.
constexpr std::array<std::string_view, 4> kSaid{"r", "lora_dropout", "target_modules", "use_dora"};

/// Null, false, empty or "none": as if it were not there.
bool is_off(const json::value& value) {
  return value.is_null() || value == json::value(false) || value == json::value("none") ||
         (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

/// The other ways of filling the matrices change the weights beside them.
bool is_plain_start(std::string_view key, const json::value& value) {
  return key == "init_lora_weights" && (value.is_bool() || value == json::value("gaussian"));
}

bool is_said(std::string_view key, const json::value& value) {
  return std::ranges::find(kSaid, key) != kSaid.end() ||
         std::ranges::find(kWithoutMemory, key) != kWithoutMemory.end() || is_off(value) ||
         is_plain_start(key, value);
}

bool is_lora(const json::object& config) {
  const json::value* const kind = config.if_contains("peft_type");
  return kind != nullptr && *kind == json::value("LORA");
}

/// Module names; absent for a pattern, which is a text.
std::optional<std::vector<std::string>> targets_of(const json::object& config) {
  const json::value* const targets = config.if_contains("target_modules");
  if (targets == nullptr || targets->is_null()) {
    return std::vector<std::string>{};
  }
  if (*targets == json::value("all-linear")) {
    return std::vector<std::string>{"all-linear"};
  }
  if (!targets->is_array() || !std::ranges::all_of(targets->get_array(), &json::value::is_string)) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const json::value& name : targets->get_array()) {
    names.emplace_back(name.get_string());
  }
  std::ranges::sort(names);  // PEFT keeps them as a set, whose order is another in each run
  return names;
}

}  // namespace

std::optional<Lora> plain_lora(const json::object& config) {
  const json::value* const rank = config.if_contains("r");
  std::optional<std::vector<std::string>> targets = targets_of(config);
  if (!is_lora(config) || rank == nullptr || !rank->is_int64() || !targets ||
      !std::ranges::all_of(config, [](const json::key_value_pair& pair) {
        return is_said(pair.key(), pair.value());
      })) {
    return std::nullopt;
  }
  const json::value* const dropout = config.if_contains("lora_dropout");
  const json::value* const dora = config.if_contains("use_dora");
  return Lora{
      .rank = static_cast<int>(rank->get_int64()),
      .dropout = dropout != nullptr && dropout->is_number() ? dropout->to_number<double>() : 0,
      .targets = *std::move(targets),
      .dora = dora != nullptr && *dora == json::value(true)};
}

Complaint set_peft(TrainingPlan& plan, std::string_view text, const AllowedValues& /*unused*/) {
  if (text.empty() || text == "none") {
    plan.peft.clear();
    return std::nullopt;
  }
  const std::string given(text);
  std::error_code ignored;
  if (!is_text(text) && !std::filesystem::exists(given, ignored)) {
    return fmt::format("no such file; {}", kRemedy);
  }
  const std::string source = is_text(text) ? "--peft {...}" : file_of(given);
  const json::object config = parsed(
      is_text(text) ? given
                    : read_text_file(source, {.size = std::uint64_t{1} << 20, .remedy = kRemedy}),
      source);
  if (std::optional<Lora> lora = plain_lora(config)) {
    plan.lora = *std::move(lora);
    plan.peft.clear();
  } else {
    plan.peft = json::serialize(config);
  }
  return std::nullopt;
}

OptionValue get_peft(const TrainingPlan& plan) {
  return plan.peft;
}

}  // namespace highwater::axes
