// What optimizers are called, by row of workloads/facts/optimizers.json: the option's words, and
// the names of classes and configurations that mean them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "workloads/plan/optimizer.hpp"

namespace highwater {

/// A word of other programs, which may set a second option as well.
struct OptimizerAlias {
  std::string_view text;  ///< in lower case, with dashes
  std::string_view second_option = {};
  std::string_view second_word = {};
};

/// A value of `optim` in transformers' TrainingArguments that means an optimizer by another word.
struct TrainerOptimizer {
  std::string_view name;
  std::string_view implementation;  ///< --optimizer-impl; empty: the plan's own
};

struct OptimizerRow {
  OptimizerKind kind = OptimizerKind::none;
  std::string_view word;                   ///< --optimizer's
  std::vector<std::string_view> synonyms;  ///< listed after all words
  std::vector<OptimizerAlias> aliases;
  std::vector<std::string_view> classes;  ///< in recordings: "torch.AdamW"
  std::vector<TrainerOptimizer> trainer;
  std::vector<std::string_view> torchtune;
  std::string_view script_class;  ///< as a script imports it; empty for none
};

/// In the order of --help.
std::span<const OptimizerRow> optimizer_table();

/// All words, then all synonyms: the values that --help lists.
std::span<const std::string_view> optimizer_words();

/// The row with that word or synonym, or nullptr.
const OptimizerRow* find_optimizer(std::string_view word);

std::string_view word_of(OptimizerKind kind);

/// Whether torch has a fused CUDA kernel of it.
constexpr bool has_fused_kernel(OptimizerKind kind) {
  return kind >= OptimizerKind::sgd && kind <= OptimizerKind::adamw;
}

/// An optimizer that is known by name only.
struct UnmodelledOptimizer {
  std::string_view name;
  std::string_view nearest;  ///< the word whose memory is nearest; empty: none is near
  std::string_view reason;   ///< why its own code refuses it, if it does
};

std::span<const UnmodelledOptimizer> unmodelled_optimizers();

}  // namespace highwater
