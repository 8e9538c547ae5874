// Whether a build of PyTorch has kernels for a GPU: later releases have none for old ones, earlier
// releases none for new ones, and a run fails at its first kernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workloads/plan/gpu.hpp"

namespace highwater {

/// Why PyTorch `torch` runs nothing on `gpu`: one sentence, by the wheels that
/// workloads/facts/gpus.json lists. A GPU that is too old for a wheel is so for later releases,
/// too, and one that is too new for earlier ones; of others nothing is known.
std::optional<std::string> why_no_kernels(const Gpu& gpu, std::string_view torch);

}  // namespace highwater
