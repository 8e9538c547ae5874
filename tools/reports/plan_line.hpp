// A plan as a command line of `simulate`: only the options that the model, the framework's defaults
// and the other options do not imply.
#pragma once

#include <optional>
#include <string>

#include "traces/units.hpp"

namespace highwater {

struct TrainingPlan;

/// What a line contains besides the plan's own axes.
struct LineOptions {
  std::string model;                  ///< a name or a file, as it was asked for
  bool is_gpu_named = false;          ///< the run has to fit on the plan's GPU
  std::optional<Bytes> capacity;      ///< what the allocator can have, if not what the GPU leaves
  std::optional<Bytes> memory_limit;  ///< of the process
  std::optional<std::string> alloc_conf;  ///< PYTORCH_CUDA_ALLOC_CONF
};

/// "highwater simulate --model gpt2 ...", quoted for a shell.
/// @pre the model can be read again, and plan_problems(plan) is empty
std::string simulate_line(const TrainingPlan& plan, const LineOptions& options);

}  // namespace highwater
