// The fields of a recorded case that DeepSpeed's engine trained: `dist` of kind deepspeed.
#pragma once

#include "workloads/json/json_field.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::recorded {

/// @throws Unsupported
void read_deepspeed(const JsonField& dist, TrainingPlan& plan);

}  // namespace highwater::recorded
