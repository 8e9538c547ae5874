#include "tools/engine/engine.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "tools/engine/torch_engine.hpp"
#include "traces/release.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/options/plan_summary.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// What the generator lacks for this plan.
std::vector<std::string> gaps_of(const TrainingPlan& plan) {
  if (is_other(plan.model.config)) {
    return {why_not_covered(plan.model)};
  }
  return generator_gaps(plan);
}

std::string release_called(const std::string& full) {
  return to_string(release_of(full));
}

/// The release that runs is the one that is there: a plan that names another asks for another
/// Python.
void adopt_release(std::string& planned, std::string_view standard, const std::string& installed,
                   const std::string& option, std::vector<std::string>& problems) {
  if (installed.empty()) {
    return;
  }
  const std::string there = release_called(installed);
  if (planned != there && planned != standard) {
    problems.push_back(fmt::format(
        "{} {}: the Python of --engine torch has {}; omit it, or name another by --python", option,
        planned, there));
    return;
  }
  planned = there;
}

void adopt_releases(TrainingPlan& plan, std::vector<std::string>& problems) {
  const EngineReleases& releases = engine_releases(plan);
  const Versions standard;
  adopt_release(plan.versions.torch, standard.torch, releases.torch, "--torch", problems);
  adopt_release(plan.versions.transformers, standard.transformers, releases.transformers,
                "--transformers", problems);
}

/// The first gap; the others matter only to those who want the model (--engine model lists them).
std::string in_one_sentence(const std::vector<std::string>& gaps) {
  return gaps.size() == 1 ? gaps.front()
                          : fmt::format("{} (and {} more, which --engine model lists)",
                                        gaps.front(), gaps.size() - 1);
}

/// Without an engine that can, what the generator lacks stays the problem, and what would help is
/// said.
void choose_between(TrainingPlan& plan, std::vector<std::string>& problems) {
  std::vector<std::string> gaps = gaps_of(plan);
  if (gaps.empty()) {
    return;
  }
  if (engine_problem(plan).empty()) {
    const std::string refusal = script_problem(plan);
    if (refusal.empty()) {
      plan.engine = EngineKind::torch;
      adopt_releases(plan, problems);
      return;
    }
    problems.push_back(in_one_sentence(gaps) + "; with your own PyTorch: " + refusal);
    return;
  }
  problems.push_back(in_one_sentence(gaps) +
                     "; your own PyTorch could run this plan (--engine torch), but " + plan.python +
                     " has none: name a Python that has a CUDA build of it by --python (no GPU is "
                     "needed)");
}

void require_torch(TrainingPlan& plan, std::vector<std::string>& problems) {
  if (const std::string problem = engine_problem(plan); !problem.empty()) {
    problems.push_back("--engine torch: " + problem);
    return;
  }
  if (const std::string refusal = script_problem(plan); !refusal.empty()) {
    problems.push_back(refusal);
    return;
  }
  adopt_releases(plan, problems);
}

}  // namespace

void choose_engine(TrainingPlan& plan, std::vector<std::string>& problems) {
  if (lists_parameters(plan.model.config)) {
    problems.push_back(why_not_covered(plan.model));
    return;
  }
  const bool is_sound = problems.empty();  // Python is asked about nothing else
  if (plan.engine == EngineKind::automatic) {
    if (is_sound) {
      choose_between(plan, problems);
    }
    return;
  }
  if (plan.engine != EngineKind::torch) {
    std::ranges::move(gaps_of(plan), std::back_inserter(problems));
  }
  if (plan.engine != EngineKind::model && is_sound) {
    require_torch(plan, problems);
  }
}

GeneratedRun make_run(const TrainingPlan& plan) {
  return plan.engine == EngineKind::torch ? run_in_torch(plan) : generate_run(plan);
}

std::string run_summary(const TrainingPlan& plan) {
  // What is still left to the program is covered by the model: others have been given to torch.
  const bool is_by_model = plan.engine == EngineKind::automatic;
  return plan_summary(plan) + (is_by_model ? ", engine model" : "");
}

std::string assumption(const TrainingPlan& plan) {
  return plan.engine == EngineKind::torch ? script_assumption(plan) : "";
}

std::string how_made(const TrainingPlan& plan) {
  if (plan.engine != EngineKind::torch) {
    return fmt::format("generated as PyTorch {} and transformers {} make them on {}",
                       plan.versions.torch, plan.versions.transformers, plan.gpu.name);
  }
  const EngineReleases& releases = engine_releases(plan);
  const std::string note = script_note(plan);
  return fmt::format(
      "made by PyTorch {}{} itself on a simulated {}{}", releases.torch,
      releases.transformers.empty() ? "" : " and transformers " + releases.transformers,
      plan.gpu.name, note.empty() ? "" : ": " + note);
}

}  // namespace highwater
