#include "workloads/training/outside_memory.hpp"

#include <algorithm>

#include "traces/release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

using namespace literals;

constexpr Release kNewest{99, 0};  ///< what a version that cannot be read counts as

/// A context's size and the measurement it comes from.
struct Context {
  Bytes bytes;
  std::string_view source;
};

Context context_of(const Gpu& gpu, std::string_view torch_version) {
  constexpr Release kLazyLoading{1, 13};  // default with CUDA 11.7
  if (parse_release(torch_version).value_or(kNewest) < kLazyLoading) {
    return {1343_MiB,
            "all kernels loaded at start, as before torch 1.13: 1343 MiB measured after the first "
            "tensor (Hugging Face documentation, model training anatomy)"};
  }
  if (gpu.major == 8 && gpu.minor == 9) {
    return {426_MiB, "measured on an RTX 6000 Ada with torch 2.10 and CUDA 13.0: 426 MiB"};
  }
  if (gpu.major < 8) {
    return {Bytes{287047680},
            "kernels loaded when first used: 287,047,680 bytes measured "
            "(github.com/pytorch/pytorch/pull/86509); measured on another architecture"};
  }
  return {500_MiB,
          "kernels loaded when first used: 300 to 500 MiB reported on A100 class GPUs, of which "
          "the upper end is used; grows with the kernels used"};
}

}  // namespace

Bytes OutsideMemory::total() const {
  Bytes sum = context;
  for (const dist::Communicator& communicator : communicators) {
    sum += communicator.memory;
  }
  return sum;
}

OutsideMemory outside_memory(const Gpu& gpu, std::string_view torch_version,
                             const Parallelism& parallel) {
  const Context context = context_of(gpu, torch_version);
  return {context.bytes, context.source, dist::communicators(parallel)};
}

OutsideMemory outside_memory(const TrainingPlan& plan) {
  OutsideMemory outside = outside_memory(plan.gpu, plan.versions.torch, plan.parallel);
  if (plan.framework == Framework::colossalai_gemini) {
    outside.communicators = dist::gemini_communicators(plan.parallel);
  }
  if (plan.context) {
    outside.context = *plan.context;
    outside.source = "as given by --context";
  }
  return outside;
}

Bytes memory_for_allocator(const Gpu& gpu, const TrainingPlan& plan) {
  TrainingPlan there = plan;
  there.gpu = gpu;
  const Bytes outside = outside_memory(there).total();
  return gpu.total_memory - std::min(gpu.total_memory, outside);
}

}  // namespace highwater
