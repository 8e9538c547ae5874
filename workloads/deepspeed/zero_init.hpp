// deepspeed.zero.Init(): every module's parameters are partitioned as soon as the module is made.
//
// Source: DeepSpeed 0.16.4, runtime/zero/partition_parameters.py (Init._post_init_method,
// _zero_init_param). At no time is more than one module whole. A model arrives here with its
// parameters on the host and is processed in the order in which its modules are created, so buffers
// with their temporaries come before all parameters instead of between them.
#pragma once

#include <memory>
#include <vector>

#include "workloads/deepspeed/partitioned_parameter.hpp"
#include "workloads/models/language_model.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::deepspeed {

/// Where offload_param keeps partitions until they move to their flat buffer.
PartitionPlace partition_place(const TrainingPlan& plan);

using PartitionedParameters = std::vector<std::unique_ptr<PartitionedParameter>>;

/// In the order in which they are made.
PartitionedParameters partition_as_made(dist::ProcessGroup& group, models::LanguageModel& model,
                                        PartitionPlace where);

/// Those of `plan`, which has stage 3.
PartitionRanks partition_ranks(const TrainingPlan& plan);

}  // namespace highwater::deepspeed
