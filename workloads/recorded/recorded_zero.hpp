// The fields of a recorded case that DeepSpeed's engine trained: `dist` of kind deepspeed.
#pragma once

#include "workloads/json/json_field.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::recorded {

/// @throws Unsupported
void read_deepspeed(const RecordedField& dist, Parallelism& parallel);

}  // namespace highwater::recorded
