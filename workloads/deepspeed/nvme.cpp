#include "workloads/deepspeed/nvme.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {
namespace {

constexpr std::int64_t kMinAioBytes = std::int64_t{1} << 20;  // MIN_AIO_BYTES, and aio's block_size
constexpr std::int64_t kAioAlignedBytes = 1024;               // AIO_ALIGNED_BYTES

std::int64_t aligned_numel(std::int64_t numel, DType dtype) {
  const std::int64_t step = kAioAlignedBytes / item_size(dtype);
  return (numel + step - 1) / step * step;
}

// get_accelerator().pin_memory, or since then new_cpu_locked_tensor.
void count_buffer(eager::Runtime& runtime, const TrainingPlan& plan, std::int64_t bytes,
                  std::string_view what) {
  if (is_recent_deepspeed(plan.versions)) {
    runtime.host_memory.lock(bytes, what);
  } else {
    runtime.host_memory.allocate(bytes, HostKind::pinned, what);
  }
}

const SubGroup& largest(std::span<const SubGroup> sub_groups) {
  return *std::ranges::max_element(sub_groups, {}, &SubGroup::numel);
}

}  // namespace

bool is_swappable(std::int64_t bytes) {
  return bytes >= kMinAioBytes;
}

bool leaves_rest(std::int64_t numel) {
  return !is_swappable(numel * item_size(DType::fp32)) ||
         numel != aligned_numel(numel, DType::fp32);
}

void SwapBuffers::swap_in(PartitionedParameter& parameter) {
  if (!parameter.is_swapped_out) {
    return;
  }
  if (free() == 0) {
    throw InputError("plan", "offload-param-buffer-count",
                     fmt::format("DeepSpeed stops here: more than {} parameters on NVMe are in use "
                                 "at the same time, and each takes a buffer",
                                 count_),
                     "use a larger number");
  }
  parameter.is_swapped_out = false;
  ++used_;
}

void SwapBuffers::give_back(PartitionedParameter& parameter) {
  if (parameter.is_on_nvme && !parameter.is_swapped_out) {
    parameter.is_swapped_out = true;
    --used_;
  }
}

void count_parameter_buffers(eager::Runtime& runtime, const TrainingPlan& plan, DType dtype,
                             std::span<const SubGroup> sub_groups) {
  const Zero& zero = plan.parallel.zero;
  const std::int64_t size = aligned_numel(zero.param_buffer_size, dtype) * item_size(dtype);
  count_buffer(runtime, plan, size * zero.param_buffer_count, "buffers of parameters on NVMe");
  const bool all_are_flat = std::ranges::all_of(
      sub_groups, [](const SubGroup& sub_group) { return sub_group.flat.defined(); });
  if (all_are_flat) {
    return;
  }
  std::int64_t numel = 0;
  for (const PartitionedParameter* parameter : largest(sub_groups).parameters) {
    numel += aligned_numel(parameter->numel, dtype);  // whole parameters, not this rank's part
  }
  count_buffer(runtime, plan, numel * item_size(dtype), "updated parameters for NVMe");
}

void count_optimizer_buffers(eager::Runtime& runtime, const TrainingPlan& plan,
                             std::span<const SubGroup> sub_groups) {
  const std::int64_t size =
      aligned_numel(largest(sub_groups).numel, DType::fp32) * item_size(DType::fp32);
  for (std::int64_t i = 0; i < plan.parallel.zero.optimizer_buffer_count; ++i) {
    count_buffer(runtime, plan, size, "buffers of optimizer states on NVMe");
  }
}

}  // namespace highwater::deepspeed
