// The words of --moe-load: even, busiest:X, or a file with the share of each expert.
#pragma once

#include "workloads/plan/options/option.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::axes {

/// @throws InputError for a file that holds something else than shares
Complaint set_moe_load(TrainingPlan& plan, std::string_view text, const AllowedValues& allowed);

OptionValue get_moe_load(const TrainingPlan& plan);

inline constexpr OptionAxis kMoeLoad{{}, get_moe_load, set_moe_load};

}  // namespace highwater::axes
