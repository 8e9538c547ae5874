#include "tools/studies/runs/planned_run.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/engine/engine.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/usage_errors.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/published_weights.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/rules/gpu_kernels.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// A config.json that lacks a key is no mistake, but its number is the family's and not the file's.
void note_family_defaults(const std::string& word, const ModelSpec& model,
                          std::vector<std::string>& notes) {
  if (!model.family_defaults.empty()) {
    notes.push_back(fmt::format("{}: missing from the file; using the family's defaults: {}",
                                word.starts_with('{') ? model.source : word,
                                fmt::join(model.family_defaults, ", ")));
  }
}

/// Options that nobody gave, and that matter this much, are told.
void note_published_weights(const TrainingPlan& plan, const OptionWords& given,
                            std::vector<std::string>& notes) {
  if (published_weights(plan.model) && find_word(given, "quantize") == nullptr) {
    notes.push_back(fmt::format(
        "{}: its quantization_config says that the checkpoint holds weights by bitsandbytes; "
        "--quantize {} is taken",
        plan.model.name, option_called("quantize").text(plan)));
  }
}

/// fp32 throughout is the default of a plan as of PyTorch; who trains a large model on a GPU with
/// bfloat16 rarely means it.
void note_precision(const TrainingPlan& plan, const OptionWords& given,
                    std::vector<std::string>& notes) {
  constexpr double kLarge = 1e9;
  const bool is_given = std::ranges::any_of(given, [](const OptionWord& word) {
    return word.first == "precision" || word.first == "framework" || word.first == "quantize" ||
           word.first == "float8";
  });
  const bool is_sound = !is_other(plan.model.config) && model_problems(plan.model).empty();
  if (is_sound && plan.precision == Precision::fp32 && !is_given && plan.gpu.major >= 8 &&
      static_cast<double>(parameter_count(plan.model.config).trainable()) >= kLarge) {
    notes.emplace_back(
        "--precision is not given, so all is in fp32; large models are usually trained in "
        "bfloat16: --precision amp-bf16 (fp32 parameters under autocast) or bf16 (all in 16 bits; "
        "DeepSpeed, Megatron-Core and plan keep fp32 copies)");
  }
}

/// Since 2.8 ProcessGroupNCCL's work holds its tensors until its watchdog has seen it end; DDP
/// waits for futures. PyTorch 2.15 was recorded without that (tools/docs/second_answers.md).
void note_first_buckets(const TrainingPlan& plan, std::vector<std::string>& notes) {
  const Parallelism& p = plan.parallel;
  const Release torch = release_of(plan.versions.torch);
  const bool keeps = torch >= Release{2, 8} && torch < Release{2, 15};
  if (keeps && plan.training && p.dp > 1 && p.dp_kind == DataParallel::ddp && !p.ddp.find_unused &&
      plan.model_code != ModelCode::megatron) {
    notes.push_back(fmt::format(
        "PyTorch {} keeps DDP's first buckets, as large as all gradients, until NCCL's watchdog "
        "has looked, ten times a second: if the second forward pass begins before that, the "
        "second step takes up to so much more than is simulated",
        plan.versions.torch));
  }
}

PlannedRun run_of(TrainingPlan plan, const OptionWords& given) {
  PlannedRun run{std::move(plan), find_word(given, "gpu") != nullptr};
  run.words = given;
  if (run.gpu_named) {
    if (auto why = why_no_kernels(run.plan.gpu, run.plan.versions.torch)) {
      run.notes.push_back(std::move(*why));
    }
  }
  if (const std::string* word = find_word(given, "model")) {
    note_family_defaults(*word, run.plan.model, run.notes);
    note_published_weights(run.plan, given, run.notes);
    note_precision(run.plan, given, run.notes);
    note_first_buckets(run.plan, run.notes);
  }
  return run;
}

/// `model` if it is known already.
PlannedRun read_words(const OptionWords& given, std::vector<std::string>& problems,
                      const ModelSpec* model) {
  std::vector<std::string> wrong;
  PlannedRun run = run_of(read_plan_words(given, wrong, model), given);
  std::ranges::transform(wrong, std::back_inserter(problems), printable);
  return run;
}

PlannedRun checked(PlannedRun run, std::vector<std::string> problems, PlanUse use,
                   const PlanCheck& check) {
  std::ranges::move(rule_problems(run.plan), std::back_inserter(problems));
  if (check) {
    check(run.plan, problems);
  }
  if (use == PlanUse::generate) {
    choose_engine(run.plan, problems);
  } else if (is_other(run.plan.model.config) && !lists_parameters(run.plan.model.config)) {
    problems.push_back(why_not_covered(run.plan.model));
  }
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  return run;
}

}  // namespace

OptionWords with_words(OptionWords given, const OptionWords& changed) {
  for (const OptionWord& option : changed) {
    std::erase_if(given, [&](const OptionWord& word) { return word.first == option.first; });
    given.push_back(option);
  }
  return given;
}

PlannedRun read_run(const OptionWords& given, std::vector<std::string>& problems) {
  return read_words(given, problems, nullptr);
}

PlannedRun checked_run(const OptionWords& given, std::vector<std::string> problems, PlanUse use,
                       const PlanCheck& check) {
  PlannedRun run = read_run(given, problems);
  return checked(std::move(run), std::move(problems), use, check);
}

PlannedRun checked_run(const OptionWords& given, const ModelSpec& model) {
  std::vector<std::string> problems;
  PlannedRun run = read_words(given, problems, &model);
  return checked(std::move(run), std::move(problems), PlanUse::generate, {});
}

}  // namespace highwater
