// Recordings of Megatron-Core, whose recorder (tools/python/frameworks/record_megatron.py) has its
// own vocabulary: one level of fields, with sizes instead of a model configuration.
#pragma once

#include "workloads/json/json_field.hpp"
#include "workloads/recorded/recorded_case.hpp"

namespace highwater::recorded {

/// @pre `root`'s case has dist.kind megatron. @throws Unsupported
TrainingPlan read_megatron_plan(const JsonField& root, const RecordedCase& recorded);

}  // namespace highwater::recorded
