// The batch and the length of a run, as `highwater record` has noted them in its recording.
#pragma once

#include <string>

#include "tools/files/input.hpp"

namespace highwater {

/// Of the batches that the model was called with, if all have the same shape; otherwise nothing.
/// `seq` only where they have two dimensions. `plan` is Recording::plan.
NamedIntegers recorded_integers(const std::string& plan);

}  // namespace highwater
