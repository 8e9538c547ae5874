// What the plan's release of transformers does behind the decoder, by the table of its family.
//
// Only what follows the decoder: head and loss. What else differs between releases of transformers
// or PyTorch is a comparison with the plan's release where it matters (decoders, masks, cuBLAS
// workspaces, foreach lists, attention kernels).
#pragma once

#include <cstdint>

#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

struct TrainingPlan;

/// The profile of the plan's family at its release of transformers.
VersionProfile version_profile(const TrainingPlan& plan);

}  // namespace highwater
