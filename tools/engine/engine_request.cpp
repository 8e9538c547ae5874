#include "tools/engine/engine_request.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "workloads/plan/catalog/config_json.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/options/varied_lengths.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// The same model and nothing else said.
TrainingPlan plain_plan(const TrainingPlan& plan) {
  TrainingPlan plain = default_plan();
  plain.model = plan.model;
  plain.model.labels = 0;
  apply_framework(plan.framework, plain);
  return plain;
}

/// Whether the rest of the plan gives this option the value that it has.
bool is_implied(const Option& option, const TrainingPlan& plan, const TrainingPlan& plain,
                const OptionWords& changed) {
  TrainingPlan rest = plan;
  if (option.set(rest, option.text(plain))) {
    return false;
  }
  OptionWords others = changed;
  std::erase_if(others, [&](const OptionWord& word) { return word.first == option.name; });
  apply_implied_defaults(others, rest);
  return option.text(rest) == option.text(plan);
}

/// Options that the rest of the plan would give another value, though theirs is the plainest.
std::vector<std::string> kept_plain(const TrainingPlan& plan, const OptionWords& changed) {
  TrainingPlan implied = plan;
  apply_implied_defaults(changed, implied);
  std::vector<std::string> names;
  for (const Option& option : option_table()) {
    if (option.name != "model" && option.text(implied) != option.text(plan)) {
      names.emplace_back(option.name);
    }
  }
  return names;
}

std::string json_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace

std::vector<std::string> changed_options(const TrainingPlan& plan) {
  const TrainingPlan plain = plain_plan(plan);
  OptionWords changed;
  for (const Option& option : option_table()) {
    if (option.name != "model" && option.text(plan) != option.text(plain)) {
      changed.emplace_back(option.name, option.text(plan));
    }
  }
  std::vector<std::string> names = kept_plain(plan, changed);
  for (const auto& [name, text] : changed) {
    if (!is_implied(option_called(name), plan, plain, changed)) {
      names.push_back(name);
    }
  }
  std::ranges::transform(names, names.begin(), json_name);
  return names;
}

namespace {

/// The sizes that the plan gives.
void add_input_sizes(const TrainingPlan& plan, boost::json::object& request) {
  const InputSizes& sizes = plan.inputs;
  if (sizes.image) {
    request["image_size"] = boost::json::array{sizes.image->height, sizes.image->width};
  }
  if (sizes.audio_seconds) {
    request["audio_seconds"] = *sizes.audio_seconds;
  }
  if (sizes.video_frames) {
    request["video_frames"] = *sizes.video_frames;
  }
  if (sizes.objects) {
    request["objects"] = *sizes.objects;
  }
  if (sizes.vary) {
    const std::vector<std::int64_t> shares = varied_shares(plan.batch);
    request["varied"] = boost::json::array(shares.begin(), shares.end());
  }
}

/// The text of a config.json, or Python that makes the model and what it may ask for; and what the
/// model is fed.
boost::json::object model_request(const ModelSpec& model, const TrainingPlan& plan) {
  boost::json::object request;
  if (!is_other(model.config) || model.config.as<OtherConfig>().python.empty()) {
    request["config"] = config_json(model);
  } else {
    request["python"] = model.config.as<OtherConfig>().python;
    request["batch"] = plan.batch;
    request["seq"] = plan.seq.front();
  }
  add_input_sizes(plan, request);
  return request;
}

}  // namespace

boost::json::object engine_request(const TrainingPlan& plan) {
  const std::vector<std::string> changed = changed_options(plan);
  boost::json::object options = plan_json(plan);
  boost::json::object request{{"options", std::move(options)},
                              {"changed", boost::json::array(changed.begin(), changed.end())},
                              {"model", model_request(plan.model, plan)},
                              {"rank", plan.parallel.rank}};
  if (plan.teacher) {
    request["teacher"] = model_request(*plan.teacher, plan);
  }
  return request;
}

}  // namespace highwater
