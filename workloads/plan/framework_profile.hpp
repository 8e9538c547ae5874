// Framework profiles: the defaults of the program that a plan imitates, where they differ from
// those of a plain PyTorch script. Every one of them can be overridden by an option.
#pragma once

#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// `plan` with the defaults of `framework`, before any option is read.
void apply_framework(Framework framework, TrainingPlan& plan);

/// What `--checkpoint selective` means to `framework`: torch chooses by operator, Megatron-LM and
/// NeMo recompute the core attention (recompute_granularity selective).
CheckpointKind selective_kind(Framework framework);

}  // namespace highwater
