// Memory that a process takes on the GPU outside the caching allocator: the CUDA context, the
// kernels that have been loaded, and what NCCL keeps for its communicators. These are estimates
// from published measurements and never part of what the allocator reserves; reports show them on
// separate lines.
#pragma once

#include <string_view>
#include <vector>

#include "traces/units.hpp"
#include "workloads/distributed/communicators.hpp"
#include "workloads/plan/gpu.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater {

struct TrainingPlan;

struct OutsideMemory {
  Bytes context;            ///< after the first iterations of a training run on one GPU
  std::string_view source;  ///< which measurement, with its conditions
  std::vector<dist::Communicator> communicators;

  [[nodiscard]] Bytes total() const;
};

/// `torch_version` as in the plan: "2.6", "2.6.0+cu124", "1.12". Unknown text counts as current.
OutsideMemory outside_memory(const Gpu& gpu, std::string_view torch_version,
                             const Parallelism& parallel = {});

/// What a GPU leaves to the allocator: everything except what the process needs outside it.
Bytes memory_for_allocator(const Gpu& gpu, const TrainingPlan& plan);

/// Of a plan, with the process groups that its framework makes.
OutsideMemory outside_memory(const TrainingPlan& plan);

}  // namespace highwater
