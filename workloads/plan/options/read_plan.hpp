// Reads a plan from options in words, wherever these are from: a command line, a grid, a sweep.
//
// Reading never stops at the first mistake: wrong values, an unknown model and the rules that cross
// axes are reported together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater {

struct TrainingPlan;

/// What the plan is read for: closed forms take more than the generator.
enum class PlanUse : std::uint8_t { generate, estimate };

/// The plan that `given` describes, without looking at rules that cross axes. The framework's
/// defaults hold first, then what is given, then what other options imply. What is wrong is
/// appended to `problems`. With a `model`, its word is not looked at. @pre every name is an
/// option's
/// @throws InputError when the model's file is unreadable and nothing else is wrong.
TrainingPlan read_plan_words(const OptionWords& given, std::vector<std::string>& problems,
                             const ModelSpec* model = nullptr);

/// What is wrong with the value `text` of `option`, whatever the rest of a plan says.
/// @pre there is such an option @throws InputError when a model's file is unreadable
Complaint complaint_about(std::string_view option, const std::string& text);

/// The rules that `plan` breaks, whoever carries it out.
std::vector<std::string> rule_problems(const TrainingPlan& plan);

/// Sets what other options of `plan` imply, but for the options `given`.
void apply_implied_defaults(const OptionWords& given, TrainingPlan& plan);

/// "--NAME: no such option of a plan; did you mean --OTHER?"
std::string unknown_option(std::string_view name);

}  // namespace highwater
