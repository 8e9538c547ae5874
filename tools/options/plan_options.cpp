#include "tools/options/plan_options.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/options/defaults/default_words.hpp"
#include "tools/options/option_help.hpp"
#include "tools/options/plan_source_option.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/options/aliases.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

/// A flag means true when it stands alone.
po::typed_value<std::string>* value_of(const Option& option) {
  auto* const value = po::value<std::string>();
  if (option.is_flag()) {
    return value->implicit_value("true", "")->value_name("[=BOOL]");
  }
  if (option.can_stand_alone) {
    return value->implicit_value("true", "")->value_name(fmt::format("[={}]", option.value));
  }
  return value->value_name(std::string(option.value));
}

}  // namespace

void add_plan_options(OptionParser& parser) {
  for (const Option& option : option_table()) {
    const std::string name(option.name);
    parser.add(option.group)(name.c_str(), value_of(option), short_help(option).c_str());
    parser.describe(name, {option.use, [&option] { return full_help(option); }});
  }
  add_plan_source(parser);
  for (const OptionAlias& alias : option_aliases()) {
    parser.alias(alias.name, {std::string(alias.option), std::string(alias.value)});
  }
  parser.add_help_all();
}

OptionWords given_plan_options(const po::variables_map& values) {
  OptionWords words;
  for (const Option& option : option_table()) {
    const std::string name(option.name);
    if (const auto text = text_option(values, name)) {
      words.emplace_back(name, *text);
    }
  }
  return words;
}

const Gpu& gpu_called(const std::string& name) {
  TrainingPlan plan;
  if (const Complaint complaint = option_called("gpu").set(plan, name)) {
    throw UsageError(fmt::format("--gpu {}: {}", name, *complaint));
  }
  return *find_gpu(name);
}

namespace {

/// Whether a plan of the words `given` is the one that was recorded, on whatever GPU.
bool is_as_recorded(const OptionWords& given, const RecordedPlan& recorded) {
  return std::ranges::all_of(given, [&](const OptionWord& word) {
    const std::string* const before = find_word(recorded.words, word.first);
    return word.first == "gpu" || (before != nullptr && *before == word.second);
  });
}

/// Of the run as it was recorded, what the recorder did not tell is known to be of no consequence
/// where the rest explains it; of a changed one it may be.
void check_against_recording(const po::variables_map& values, PlannedRun& run) {
  const OptionWords given = given_plan_options(values);
  const std::optional<RecordedPlan> recorded = recorded_plan(values, given);
  if (!recorded) {
    return;
  }
  try {
    run.recording = std::make_shared<RecordingCheck>(check_recording(*recorded));
  } catch (const Error& refused) {
    run.notes.push_back(fmt::format("{}: not compared with the plan that it carries: {}",
                                    recorded->file, refused.what()));
    return;
  }
  if (!run.recording->is_explained()) {
    run.notes.push_back(fmt::format("{}: {}", recorded->file, recording_clause(*run.recording)));
  } else if (is_as_recorded(given, *recorded)) {
    run.left_out.clear();
  }
}

PlannedRun checked_run_of(const po::variables_map& values, std::vector<std::string> problems,
                          PlanUse use, const PlanCheck& check) {
  try {
    return checked_run(given_plan_options(values), std::move(problems), use, check);
  } catch (const UsageErrors& refused) {
    std::vector<std::string> sentences = refused.problems();
    for (std::string& sentence : sentences) {
      sentence = with_its_keys(std::move(sentence), values);
    }
    throw UsageErrors(std::move(sentences));
  }
}

}  // namespace

void add_source_facts(const po::variables_map& values, PlannedRun& run) {
  if (std::string taken = untold_default_words(); !taken.empty()) {
    run.notes.push_back(std::move(taken));
  }
  std::ranges::move(source_notes(values), std::back_inserter(run.notes));
  run.left_out = left_out_keys(values);
  run.releases = source_releases(values);
  run.earlier = kept_earlier_run(values);
  run.sources = plan_sources(values);
  check_against_recording(values, run);
}

PlannedRun read_plan(const po::variables_map& values, std::vector<std::string> problems,
                     PlanUse use, const PlanCheck& check) {
  if (const auto sentence = why_no_model(values)) {  // of which all else depends
    throw UsageErrors({*sentence});
  }
  if (const auto sentence = why_left_open(values)) {
    throw UsageErrors({*sentence});
  }
  if (const auto sentence = why_no_ranks(values)) {
    throw UsageErrors({*sentence});
  }
  PlannedRun run = checked_run_of(values, std::move(problems), use, check);
  if (const auto file = python_file_of(run.plan.model.config)) {
    remember_input(std::filesystem::path(*file));  // which Python reads
  }
  add_source_facts(values, run);
  return run;
}

}  // namespace highwater
