// The value of --peft: PEFT's own configuration of an adapter, as its save_pretrained() writes it
// (adapter_config.json), or the text of one. LoRA that the options of LoRA say becomes these.
#pragma once

#include <optional>

#include <boost/json.hpp>

#include "workloads/plan/lora.hpp"
#include "workloads/plan/options/option.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::axes {

/// What the options of LoRA say of a configuration; absent if they cannot say all of it.
std::optional<Lora> plain_lora(const boost::json::object& config);

/// @throws InputError for a file that cannot be read, or is no such configuration
Complaint set_peft(TrainingPlan& plan, std::string_view text, const AllowedValues& allowed);

OptionValue get_peft(const TrainingPlan& plan);

inline constexpr OptionAxis kPeft{{}, get_peft, set_peft};

}  // namespace highwater::axes
