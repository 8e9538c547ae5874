// A plan as requested in words: on a command line, in a grid, by a sweep.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/studies/runs/left_out.hpp"
#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/sources/plan_source.hpp"

namespace highwater {

/// The plan of --from by the defaults of earlier releases, which its files could be of as well.
struct EarlierRun {
  std::string releases;  ///< "trl before 0.19"
  OptionWords words;     ///< of the whole plan
};

struct RecordingCheck;

struct PlannedRun {
  TrainingPlan plan;
  bool gpu_named = false;                  ///< --gpu was given: the run has to fit on it
  std::vector<std::string> notes = {};     ///< what a reader of the run's numbers should know
  std::vector<std::string> releases = {};  ///< that files of --from were read as, one text each
  std::optional<EarlierRun> earlier = {};
  std::vector<LeftOutKey> left_out = {};  ///< keys of --from that the plan lacks; each has a note
  OptionWords words = {};                 ///< the options that say so
  /// Of the recording that the plan was read from: whether the plan, before other options changed
  /// it, explains it.
  std::shared_ptr<const RecordingCheck> recording = {};
  std::vector<PlanSource> sources = {};  ///< of --from
};

/// `given` with `changed` set anew.
OptionWords with_words(OptionWords given, const OptionWords& changed);

/// The run that `given` describes, without looking at rules that cross axes. What is wrong is
/// appended to `problems`. @throws InputError as read_plan_words
PlannedRun read_run(const OptionWords& given, std::vector<std::string>& problems);

/// What a command asks of a plan besides its rules: appends to the problems.
using PlanCheck = std::function<void(const TrainingPlan&, std::vector<std::string>&)>;

/// The same, rules included, with an engine that can carry it out. @throws UsageErrors with
/// everything that is wrong, `problems` included
PlannedRun checked_run(const OptionWords& given, std::vector<std::string> problems = {},
                       PlanUse use = PlanUse::generate, const PlanCheck& check = {});

/// The same, to generate, with the model that `given` names and that has been read: a pipe
/// (--model <(jq ...)) can be read only once.
PlannedRun checked_run(const OptionWords& given, const ModelSpec& model);

}  // namespace highwater
