// What `highwater record` has noted in its recording: the batch and the length of a run.
#pragma once

#include <string>

#include "tools/files/input.hpp"

namespace highwater {

/// Of the batches that the model was called with, if all have the same shape; otherwise nothing. Of
/// square images `batch` and `side`.
/// `seq` only where they have two dimensions. `plan` is Recording::plan.
NamedIntegers recorded_integers(const std::string& plan);

}  // namespace highwater
