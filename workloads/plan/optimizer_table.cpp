#include "workloads/plan/optimizer_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "workloads/facts/facts.hpp"

namespace highwater {
namespace {

struct NamedKind {
  std::string_view word;
  OptimizerKind kind;
};

/// What is C++ of an optimizer, its step, by the word of its row.
constexpr std::array kKinds{NamedKind{"none", OptimizerKind::none},
                            NamedKind{"sgd", OptimizerKind::sgd},
                            NamedKind{"sgd-momentum", OptimizerKind::sgd_momentum},
                            NamedKind{"adam", OptimizerKind::adam},
                            NamedKind{"adamw", OptimizerKind::adamw},
                            NamedKind{"rmsprop", OptimizerKind::rmsprop},
                            NamedKind{"adagrad", OptimizerKind::adagrad},
                            NamedKind{"adafactor", OptimizerKind::adafactor},
                            NamedKind{"nadam", OptimizerKind::nadam},
                            NamedKind{"radam", OptimizerKind::radam},
                            NamedKind{"adamax", OptimizerKind::adamax},
                            NamedKind{"adadelta", OptimizerKind::adadelta},
                            NamedKind{"asgd", OptimizerKind::asgd},
                            NamedKind{"rprop", OptimizerKind::rprop},
                            NamedKind{"muon", OptimizerKind::muon},
                            NamedKind{"lbfgs", OptimizerKind::lbfgs},
                            NamedKind{"adamw-8bit", OptimizerKind::adamw_8bit},
                            NamedKind{"adamw-32bit", OptimizerKind::adamw_32bit},
                            NamedKind{"paged-adamw-8bit", OptimizerKind::paged_adamw_8bit},
                            NamedKind{"paged-adamw-32bit", OptimizerKind::paged_adamw_32bit},
                            NamedKind{"lion-8bit", OptimizerKind::lion_8bit},
                            NamedKind{"lion-32bit", OptimizerKind::lion_32bit},
                            NamedKind{"paged-lion-8bit", OptimizerKind::paged_lion_8bit},
                            NamedKind{"paged-lion-32bit", OptimizerKind::paged_lion_32bit},
                            NamedKind{"ademamix-8bit", OptimizerKind::ademamix_8bit},
                            NamedKind{"ademamix-32bit", OptimizerKind::ademamix_32bit},
                            NamedKind{"paged-ademamix-8bit", OptimizerKind::paged_ademamix_8bit},
                            NamedKind{"paged-ademamix-32bit", OptimizerKind::paged_ademamix_32bit},
                            NamedKind{"rmsprop-8bit", OptimizerKind::rmsprop_8bit},
                            NamedKind{"rmsprop-32bit", OptimizerKind::rmsprop_32bit},
                            NamedKind{"sgd-8bit", OptimizerKind::sgd_8bit},
                            NamedKind{"sgd-32bit", OptimizerKind::sgd_32bit},
                            NamedKind{"adagrad-8bit", OptimizerKind::adagrad_8bit},
                            NamedKind{"adagrad-32bit", OptimizerKind::adagrad_32bit},
                            NamedKind{"lamb-32bit", OptimizerKind::lamb_32bit},
                            NamedKind{"lars-32bit", OptimizerKind::lars_32bit},
                            NamedKind{"adafactor-hf", OptimizerKind::adafactor_hf},
                            NamedKind{"lion", OptimizerKind::lion},
                            NamedKind{"stable-adamw", OptimizerKind::stable_adamw},
                            NamedKind{"schedule-free-adamw", OptimizerKind::schedule_free_adamw},
                            NamedKind{"schedule-free-radam", OptimizerKind::schedule_free_radam},
                            NamedKind{"schedule-free-sgd", OptimizerKind::schedule_free_sgd},
                            NamedKind{"galore-adamw", OptimizerKind::galore_adamw},
                            NamedKind{"galore-adamw-8bit", OptimizerKind::galore_adamw_8bit},
                            NamedKind{"galore-adafactor", OptimizerKind::galore_adafactor},
                            NamedKind{"apollo-adamw", OptimizerKind::apollo_adamw},
                            NamedKind{"came", OptimizerKind::came},
                            NamedKind{"grokadamw", OptimizerKind::grokadamw},
                            NamedKind{"lomo", OptimizerKind::lomo},
                            NamedKind{"adalomo", OptimizerKind::adalomo},
                            NamedKind{"adamw-torch-8bit", OptimizerKind::adamw_torch_8bit},
                            NamedKind{"adamw-torch-4bit", OptimizerKind::adamw_torch_4bit},
                            NamedKind{"adamw-torch-fp8", OptimizerKind::adamw_torch_fp8},
                            NamedKind{"adamw-cpu-offload", OptimizerKind::adamw_cpu_offload}};

OptimizerKind kind_of(const JsonField& word) {
  const auto* const found = std::ranges::find(kKinds, word.view(), &NamedKind::word);
  if (found == kKinds.end()) {
    word.fail("no OptimizerKind has this word; add it to workloads/plan/optimizer_table.cpp");
  }
  return found->kind;
}

std::vector<OptimizerAlias> aliases_of(const JsonField& row) {
  std::vector<OptimizerAlias> aliases;
  for (const std::string_view text : row.views("aliases")) {
    aliases.push_back({.text = text});
  }
  if (const auto others = row.find("aliases_with")) {
    for (const JsonField& other : others->elements()) {
      aliases.push_back(
          {other.at("alias").view(), other.at("option").view(), other.at("value").view()});
    }
  }
  return aliases;
}

std::vector<TrainerOptimizer> trainer_names_of(const JsonField& row) {
  std::vector<TrainerOptimizer> names;
  const auto trainer = row.find("trainer");
  const auto reads = trainer ? trainer->find("reads") : std::nullopt;
  if (reads) {
    for (const auto& [name, value] : reads->object()) {
      names.push_back({name, reads->at(name).view()});
    }
  }
  return names;
}

OptimizerRow row_of(const JsonField& row) {
  const auto script = row.find("script");
  return {.kind = kind_of(row.at("word")),
          .word = row.at("word").view(),
          .synonyms = row.views("synonyms"),
          .aliases = aliases_of(row),
          .classes = row.views("classes"),
          .trainer = trainer_names_of(row),
          .torchtune = row.views("torchtune"),
          .script_class = script ? script->at("class").view() : std::string_view()};
}

UnmodelledOptimizer unmodelled_of(const JsonField& row) {
  return {row.at("name").view(), row.view_or_empty("nearest"), row.view_or_empty("reason")};
}

/// The rows under `key`, each read by `read`.
template <class Read>
auto read_rows(std::string_view key, Read read) {
  std::vector<decltype(read(facts("optimizers.json")))> rows;
  std::ranges::transform(facts("optimizers.json").at(key).elements(), std::back_inserter(rows),
                         read);
  return rows;
}

std::vector<std::string_view> listed_words() {
  std::vector<std::string_view> words;
  std::ranges::transform(optimizer_table(), std::back_inserter(words), &OptimizerRow::word);
  for (const OptimizerRow& row : optimizer_table()) {
    words.insert(words.end(), row.synonyms.begin(), row.synonyms.end());
  }
  return words;
}

}  // namespace

std::span<const OptimizerRow> optimizer_table() {
  static const std::vector<OptimizerRow> kRows = read_rows("optimizers", row_of);
  return kRows;
}

std::span<const std::string_view> optimizer_words() {
  static const std::vector<std::string_view> kWords = listed_words();
  return kWords;
}

const OptimizerRow* find_optimizer(std::string_view word) {
  const auto found = std::ranges::find_if(optimizer_table(), [&](const OptimizerRow& row) {
    return row.word == word || std::ranges::find(row.synonyms, word) != row.synonyms.end();
  });
  return found == optimizer_table().end() ? nullptr : &*found;
}

std::string_view word_of(OptimizerKind kind) {
  return std::ranges::find(optimizer_table(), kind, &OptimizerRow::kind)->word;
}

std::span<const UnmodelledOptimizer> unmodelled_optimizers() {
  static const std::vector<UnmodelledOptimizer> kRows = read_rows("unmodelled", unmodelled_of);
  return kRows;
}

}  // namespace highwater
