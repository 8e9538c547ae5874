#include "workloads/sources/observed_run.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/observed_parts.hpp"
#include "workloads/sources/shortest_words.hpp"

namespace highwater {
namespace {

constexpr std::string_view kSchema = "highwater.observed_plan/";
constexpr std::string_view kRecordAgain = "record it again with highwater record";

void list_unknown(const ObservedFacts& facts, SourceKeys& keys) {
  const boost::json::value* const unknown = facts.find("unknown");
  if (unknown == nullptr || !unknown->is_array()) {
    return;
  }
  for (std::size_t i = 0; i < unknown->get_array().size(); ++i) {
    keys.add_not_supported("unknown", facts.shown("unknown." + std::to_string(i)),
                           "the recorder could not see it");
  }
}

/// Where the string that begins at `begin` ends; its end stands behind the closing quote.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  std::size_t at = begin + 1;
  while (at < text.size() && text[at] != '"') {
    at += text[at] == '\\' ? std::size_t{2} : std::size_t{1};
  }
  return std::min(at + 1, text.size());
}

std::string_view bare_number_at(std::string_view rest) {
  constexpr std::array<std::string_view, 3> kNames{"Infinity", "-Infinity", "NaN"};
  const auto found =
      std::ranges::find_if(kNames, [&](std::string_view name) { return rest.starts_with(name); });
  return found == kNames.end() ? std::string_view() : *found;
}

/// Recordings of before have numbers that JSON does not know (Python's json.dumps): as texts.
std::string with_quoted_numbers(std::string_view text) {
  std::string quoted;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view bare = bare_number_at(text.substr(at));
    const std::size_t end =
        text[at] == '"' ? end_of_string(text, at) : at + std::max<std::size_t>(bare.size(), 1);
    quoted += bare.empty() ? std::string(text.substr(at, end - at)) : fmt::format("\"{}\"", bare);
    at = end;
  }
  return quoted;
}

/// Megatron-Core's pretraining decides these by itself, whatever was seen of its model and batches.
void leave_to_megatron(OptionWords& words) {
  constexpr std::array<std::string_view, 5> kOwn{"init", "loss", "use-cache", "keep-logits",
                                                 "attention-mask"};
  const std::string* const framework = find_word(words, "framework");
  if (framework != nullptr && *framework == "megatron") {
    std::erase_if(words, [&](const OptionWord& word) {
      return std::ranges::find(kOwn, word.first) != kOwn.end();
    });
  }
}

}  // namespace

PlanSource plan_of_recording(std::string_view text, const std::string& file) {
  boost::json::error_code broken;
  const boost::json::value root = boost::json::parse(with_quoted_numbers(text), broken);
  const ObservedFacts facts(root);
  if (broken || !facts.text("schema").value_or("").starts_with(kSchema)) {
    throw InputError(file, "highwater.plan", "is no plan that this program knows",
                     std::string(kRecordAgain));
  }
  SourceKeys keys;
  read_observed_model(facts, file, keys);
  read_observed_batches(facts, keys);
  read_observed_evaluation(facts, keys);
  read_observed_optimizer(facts, keys);
  read_observed_strategy(facts, keys);
  read_observed_device(facts, keys);
  list_unknown(facts, keys);
  PlanSource source = keys.finish();
  source.file = file;
  leave_to_megatron(source.words);
  source.words = shortest_words(std::move(source.words));
  return source;
}

}  // namespace highwater
