#include "tools/studies/scaling/recorded_conditions.hpp"

#include <algorithm>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/files/program_file.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

using Names = std::set<std::string>;

/// The value at a path of names; nullptr where there is none.
const boost::json::value* find_at(const boost::json::object& plan,
                                  std::initializer_list<std::string_view> path) {
  const boost::json::object* object = &plan;
  const boost::json::value* found = nullptr;
  for (const std::string_view name : path) {
    found = object != nullptr ? object->if_contains(name) : nullptr;
    if (found == nullptr) {
      return nullptr;
    }
    object = found->if_object();
  }
  return found;
}

std::string text_of(const boost::json::value* value) {
  if (value == nullptr) {
    return "";
  }
  return value->is_null() ? "none" : value->is_string() ? std::string(value->get_string()) : "";
}

/// The names in an object, whatever their values.
Names names_in(const boost::json::value* value) {
  Names names;
  if (value != nullptr && value->is_object()) {
    for (const auto& member : value->get_object()) {
      names.emplace(member.key());
    }
  }
  return names;
}

/// The texts in a list, in their order.
std::vector<std::string> texts_in(const boost::json::value* value) {
  std::vector<std::string> texts;
  if (value != nullptr && value->is_array()) {
    for (const boost::json::value& each : value->get_array()) {
      texts.push_back(text_of(&each));
    }
  }
  return texts;
}

/// "LORA of q_proj, v_proj"
std::string adapter_words(const boost::json::object& adapter) {
  std::string words = text_of(find_at(adapter, {"kind"}));
  if (const auto targets = texts_in(find_at(adapter, {"targets"})); !targets.empty()) {
    words += fmt::format(" of {}", fmt::join(Names(targets.begin(), targets.end()), ", "));
  }
  if (const auto saved = texts_in(find_at(adapter, {"modules_to_save"})); !saved.empty()) {
    words += fmt::format(" and {}", fmt::join(Names(saved.begin(), saved.end()), ", "));
  }
  return words;
}

/// "torch.AdamW (fused)"
std::string optimizer_words(const boost::json::object& optimizer) {
  const std::string form = text_of(find_at(optimizer, {"implementation"}));
  return text_of(find_at(optimizer, {"class"})) +
         (form.empty() || form == "none" ? "" : fmt::format(" ({})", form));
}

/// Of a list of objects: what `words` says of each; "none" of an empty one, nothing without a list.
template <class Words>
std::string list_words(const boost::json::value* value, const Words& words) {
  if (value == nullptr || !value->is_array()) {
    return "";
  }
  std::vector<std::string> each;
  for (const boost::json::value& item : value->get_array()) {
    if (const auto* object = item.if_object()) {
      each.push_back(words(*object));
    }
  }
  return each.empty() ? "none" : fmt::format("{}", fmt::join(each, "; "));
}

std::string checkpointing_words(const boost::json::value* value) {
  return value == nullptr ? "" : value->is_null() ? "no" : "yes";
}

void add(std::vector<FixedCondition>& conditions, std::string_view name, std::string value) {
  if (!value.empty()) {
    conditions.push_back({std::string(name), std::move(value)});
  }
}

std::string joined(const Names& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<FixedCondition> recorded_conditions(const std::string& plan) {
  boost::system::error_code error;
  const boost::json::value root = boost::json::parse(plan, error);
  std::vector<FixedCondition> conditions;
  if (error || !root.is_object()) {
    return conditions;
  }
  const boost::json::object& facts = root.get_object();
  add(conditions, kGpuCondition, text_of(find_at(facts, {"device", "gpu"})));
  add(conditions, "PyTorch", text_of(find_at(facts, {"releases", "torch"})));
  add(conditions, "transformers", text_of(find_at(facts, {"releases", "transformers"})));
  add(conditions, "model", text_of(find_at(facts, {"model", "class"})));
  add(conditions, "weights", joined(names_in(find_at(facts, {"model", "parameters"}))));
  add(conditions, "autocast", text_of(find_at(facts, {"precision", "autocast"})));
  add(conditions, "attention", text_of(find_at(facts, {"model", "attention"})));
  add(conditions, "attention mask", text_of(find_at(facts, {"batch", "attention_mask"})));
  add(conditions, "inputs", joined(names_in(find_at(facts, {"batch", "tensors"}))));
  add(conditions, "adapters", list_words(find_at(facts, {"adapters"}), adapter_words));
  add(conditions, "optimizers", list_words(find_at(facts, {"optimizers"}), optimizer_words));
  add(conditions, "checkpointing", checkpointing_words(find_at(facts, {"checkpointing"})));
  add(conditions, "wrapper", text_of(find_at(facts, {"strategy", "kind"})));
  add(conditions, "loop", text_of(find_at(facts, {"loop"})));
  return conditions;
}

std::vector<FixedCondition> shared_conditions(std::span<const ConditionsOfRun> runs) {
  std::vector<FixedCondition> shared;
  for (const FixedCondition& condition : runs.front().conditions) {
    bool is_told = true;
    for (const ConditionsOfRun& run : runs) {
      const FixedCondition* other = find_condition(run.conditions, condition.name);
      is_told = is_told && other != nullptr;
      if (other != nullptr && other->value != condition.value) {
        throw UsageError(fmt::format(
            "'{}' ran with {}: {}, '{}' with {}: {}; a program holds for one of them, so fit "
            "recordings that differ in their integers alone",
            runs.front().path, condition.name, condition.value, run.path, other->name,
            other->value));
      }
    }
    if (is_told) {
      shared.push_back(condition);
    }
  }
  return shared;
}

}  // namespace highwater
