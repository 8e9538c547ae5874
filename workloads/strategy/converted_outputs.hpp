// What accelerate puts around a model that runs under autocast: its outputs in fp32.
//
// Source: accelerate 1.15, accelerator.py prepare_model (convert_outputs_to_fp32 around the
// autocast, inside of DistributedDataParallel) and utils/operations.py convert_to_fp32.
#pragma once

#include "workloads/models/language_model.hpp"

namespace highwater {

struct TrainingPlan;

/// Whether accelerate prepares the model of this plan so.
bool converts_outputs(const TrainingPlan& plan);

/// The outputs as they were live until all are converted.
void convert_to_fp32(models::Outputs& outputs);

}  // namespace highwater
