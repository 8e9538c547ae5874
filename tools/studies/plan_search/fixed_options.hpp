// What the search leaves as it is told: sizes and kinds that it would choose otherwise (--tp 8,
// --cp 1,
// --dp-kind fsdp2), and settings of the programs that have them (--fp32-grads=false).
//
// An option that the search chooses keeps rows with that value and drops the others. Any other
// option of how a job is divided is set in every strategy that can have it; strategies that cannot
// compete as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/plan/options/option_table.hpp"

namespace highwater {

struct TrainingPlan;

/// Values as the option table writes them.
struct FixedOptions {
  OptionWords chosen;    ///< of options that the search would choose
  OptionWords settings;  ///< of all others
};

/// Whether the option says how a job is divided.
bool is_of_division(const Option& option);

/// The options among `given` that say how a job is divided. What is wrong with a value is appended
/// to `problems`.
FixedOptions fixed_options(const OptionWords& given, std::vector<std::string>& problems);

/// Why a job of `gpus` GPUs cannot have these sizes; absent if it can.
std::optional<std::string> why_not_divided(const FixedOptions& fixed, int gpus);

/// The size that is given of an axis ("tp"); absent: the search chooses it.
std::optional<int> fixed_size(const FixedOptions& fixed, std::string_view axis);

/// Whether `plan` has what is given of the options that a strategy or a variation chooses.
bool keeps_fixed(const FixedOptions& fixed, const TrainingPlan& plan);

/// Sets each setting that breaks no rule of the plan.
void apply_settings(const FixedOptions& fixed, TrainingPlan& plan);

}  // namespace highwater
