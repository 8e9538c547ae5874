// All options of a training plan, one row each: the only list of them.
//
// The order of the rows is the order of JSON keys, of plans in words and of complaints; --help
// sorts them by group. A new option is a member of the plan and a row in one of the sections.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/plan/options/option.hpp"

namespace highwater {

struct TrainingPlan;

/// An option's name, without dashes, and its value as on a command line.
using OptionWord = std::pair<std::string, std::string>;
using OptionWords = std::vector<OptionWord>;

/// Every row.
std::span<const Option> option_table();

/// The row called `name`, or nullptr.
const Option* find_option(std::string_view name);

/// @pre there is such a row
const Option& option_called(std::string_view name);

/// The names of all rows, without dashes.
std::vector<std::string> plan_option_names();

/// Every option with its value in `plan`: given back as options, they make the same plan.
OptionWords plan_words(const TrainingPlan& plan);

/// `text` for option `name`, if `words` has it.
const std::string* find_word(const OptionWords& words, std::string_view name);

// The rows by what they belong to, in order.
namespace option_sections {

std::span<const Option> model_options();
std::span<const Option> training_options();
std::span<const Option> parallel_sizes_options();
std::span<const Option> wrappers_options();
std::span<const Option> megatron_options();
std::span<const Option> fsdp1_options();
std::span<const Option> communication_options();
std::span<const Option> device_options();
std::span<const Option> deepspeed_options();
std::span<const Option> ddp_hooks_options();

}  // namespace option_sections

}  // namespace highwater
