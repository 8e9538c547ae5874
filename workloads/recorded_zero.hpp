// The fields of a recorded case that DeepSpeed's engine trained: `dist` of kind deepspeed.
#pragma once

#include "workloads/parallelism.hpp"
#include "workloads/recorded_field.hpp"

namespace highwater::recorded {

/// @throws Unsupported
void read_deepspeed(const RecordedField& dist, Parallelism& parallel);

}  // namespace highwater::recorded
