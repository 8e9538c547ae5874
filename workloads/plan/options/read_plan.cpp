#include "workloads/plan/options/read_plan.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/options/aliases.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/options/implied_defaults.hpp"
#include "workloads/plan/options/varied_lengths.hpp"
#include "workloads/plan/options/words.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// A value of another program gets a word of its own.
Complaint set_or_explain(const Option& option, const std::string& text, TrainingPlan& plan) {
  const Complaint gap = not_modelled(option.name, text);
  return gap ? gap : option.set(plan, text);
}

/// Sets one option after the other; what is wrong joins the problems.
class WordReader {
 public:
  explicit WordReader(std::vector<std::string>& problems) : problems_(&problems) {}

  void set_model(const ModelSpec& model) { plan_.model = model; }

  /// A file that cannot be read is bad input, unless the options have mistakes, too.
  void set(const Option& option, const std::string& text) {
    try {
      if (const Complaint complaint = set_or_explain(option, text, plan_)) {
        problems_->push_back(fmt::format("--{} {}: {}", option.name, text, *complaint));
      }
    } catch (const InputError& error) {
      unreadable_ = error;
    }
  }

  /// @throws InputError
  TrainingPlan finish(const OptionWords& given) {
    apply_implied_defaults(given, plan_);
    if (unreadable_ && problems_->empty()) {
      throw *unreadable_;
    }
    if (unreadable_) {
      problems_->emplace_back(unreadable_->what());
    }
    return plan_;
  }

 private:
  TrainingPlan plan_;
  std::vector<std::string>* problems_;
  std::optional<InputError> unreadable_;
};

/// A framework that is not named follows from whose code the model is.
OptionWords with_framework(OptionWords words) {
  if (find_word(words, "framework") == nullptr) {
    TrainingPlan plan;
    const std::string* code = find_word(words, "model-code");
    static_cast<void>(option_called("model-code").set(plan, code == nullptr ? "hf" : *code));
    words.emplace_back("framework", word_of(kFrameworks, default_framework(plan.model_code)));
  }
  return words;
}

/// A model with a table of positions is not fed more of them unless that is asked for.
void shorten_to_positions(TrainingPlan& plan) {
  const bool has_table = !is_other(plan.model.config) && !plan.model.name.empty() &&
                         plan.model.config.family().traits.position_table;
  const auto positions = has_table ? shape_of(plan.model).max_positions : std::nullopt;
  if (positions && *positions > 0) {
    plan.seq = {std::min(plan.seq.front(), *positions)};
  }
}

/// Trainer's bf16=True and fp16=True are the engine's own mixed precision under DeepSpeed
/// (transformers 5.24, integrations/deepspeed.py trainer_config_process: bf16.enabled).
void leave_precision_to_engine(TrainingPlan& plan) {
  if (!runs_trainer(plan.framework) || !uses_deepspeed(plan) || !is_autocast(plan.precision)) {
    return;
  }
  plan.precision = compute_dtype(plan.precision) == DType::fp16 ? Precision::fp16 : Precision::bf16;
}

}  // namespace

TrainingPlan read_plan_words(const OptionWords& given, std::vector<std::string>& problems,
                             const ModelSpec* model) {
  const OptionWords own = with_framework(in_own_words(given));
  WordReader reader(problems);
  if (find_word(own, "model") == nullptr) {
    problems.emplace_back(
        "missing --model; give a name ('highwater models' lists them) or a config.json");
  }
  for (const Option& option : option_table()) {
    const std::string* text = find_word(own, option.name);
    if (model != nullptr && option.name == "model") {
      reader.set_model(*model);
    } else if (text != nullptr) {
      reader.set(option, *text);
    }
  }
  return reader.finish(own);
}

Complaint complaint_about(std::string_view option, const std::string& text) {
  TrainingPlan plan;
  for (const auto& [name, own] : in_own_words({{std::string(option), text}})) {
    if (const Complaint complaint = set_or_explain(option_called(name), own, plan)) {
      return complaint;
    }
  }
  return std::nullopt;
}

std::vector<std::string> rule_problems(const TrainingPlan& plan) {
  // Without a model most rules have nothing to look at.
  return plan.model.name.empty() ? std::vector<std::string>{} : plan_problems(plan);
}

void apply_implied_defaults(const OptionWords& given, TrainingPlan& plan) {
  for (const ImpliedDefault& row : implied_defaults()) {
    if (find_word(given, row.option) == nullptr && row.applies(plan)) {
      static_cast<void>(option_called(row.option).set(plan, row.word));  // tested: none complains
    }
  }
  leave_precision_to_engine(plan);
  if (find_word(given, "batch") == nullptr && splits_over_grid(plan.parallel)) {
    plan.batch = grid_batch_parts(plan.parallel);
  }
  if (find_word(given, "seq") == nullptr) {
    shorten_to_positions(plan);
  }
  if (plan.inputs.vary && plan.seq.size() == 1) {
    plan.seq = varied_lengths(plan.seq.front(), varied_shares(plan.batch));
  }
}

std::string unknown_option(std::string_view name) {
  const auto meant = nearest_word(name, plan_option_names());
  return fmt::format(
      "--{}: unknown plan option; {}", name,
      meant ? fmt::format("did you mean --{}?", *meant) : "see highwater simulate --help");
}

}  // namespace highwater
