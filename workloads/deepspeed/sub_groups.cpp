#include "workloads/deepspeed/sub_groups.hpp"

#include <algorithm>

#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/eager/host_copies.hpp"

namespace highwater::deepspeed {

using eager::Tensor;

namespace {

// The parameters' partitions and the sub-group's are parts of one buffer, no longer on NVMe.
void use_flat(SubGroup& sub_group, const Tensor& buffer, std::int64_t offset) {
  sub_group.flat = narrow_as(buffer, offset, {sub_group.numel});
  for (PartitionedParameter* parameter : sub_group.parameters) {
    set_data(parameter->partition, narrow_as(buffer, offset, {parameter->partition_numel}));
    offset += parameter->partition_numel;
    parameter->is_on_nvme = parameter->is_swapped_out = false;
  }
}

// _create_param_groups_fp16_flat_cpu_memory: what is left of `most` for a group that exceeds it; no
// buffer has one element.
std::vector<std::int64_t> buffer_sizes(const std::vector<SubGroup>& sub_groups,
                                       std::optional<std::int64_t> most) {
  std::vector<std::int64_t> sizes;
  for (const SubGroup& sub_group : sub_groups) {
    sizes.resize(std::max(sizes.size(), sub_group.group + 1));
    sizes[sub_group.group] += sub_group.numel;
  }
  std::int64_t before = 0;
  for (std::int64_t& size : sizes) {
    const std::int64_t whole = size;
    if (most && before + whole > *most) {
      size = std::max<std::int64_t>(1, *most - before);
    }
    before += whole;
  }
  return sizes;
}

std::vector<Tensor> make_host_buffers(const std::vector<std::int64_t>& sizes,
                                      eager::Runtime& runtime, DType dtype) {
  std::vector<Tensor> buffers;
  for (const std::int64_t numel : sizes) {
    const Tensor pageable = eager::empty_on(runtime, eager::Place::host, {numel}, dtype);
    buffers.push_back(eager::pin_memory(pageable));
    runtime.categorize(buffers.back(), Category::parameter);
  }
  return buffers;
}

}  // namespace

std::vector<SubGroup> make_sub_groups(const std::vector<ParameterGroup>& groups,
                                      std::int64_t most) {
  std::vector<SubGroup> sub_groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    bool is_full = true;
    for (PartitionedParameter* parameter : groups[i]) {
      if (is_full) {
        sub_groups.emplace_back().group = i;
      }
      SubGroup& sub_group = sub_groups.back();
      sub_group.parameters.push_back(parameter);
      sub_group.numel += parameter->partition_numel;
      is_full = sub_group.numel >= most;
    }
  }
  return sub_groups;
}

// _create_fp32_partitions.
void offload_part(std::vector<SubGroup>& sub_groups, double ratio, DeepspeedRelease release) {
  const auto count = static_cast<double>(sub_groups.size());
  const bool is_recent = release == DeepspeedRelease::v0_19;
  const auto border = static_cast<std::size_t>((is_recent ? 1 - ratio : ratio) * count);
  for (std::size_t i = 0; i < sub_groups.size(); ++i) {
    if ((i >= border) == is_recent) {
      sub_groups[i].place = eager::Place::host;
    }
  }
}

Tensor defragment(std::vector<SubGroup>& sub_groups, eager::Runtime& runtime, DType dtype) {
  std::int64_t elements = 0;
  for (const SubGroup& sub_group : sub_groups) {
    for (PartitionedParameter* parameter : sub_group.parameters) {
      set_data(parameter->partition, eager::empty(runtime, {0}, dtype));
      elements += parameter->partition_numel;
    }
  }
  runtime.empty_cache();
  const eager::OpScope op(runtime, "deepspeed::defragment");
  Tensor buffer = eager::empty(runtime, {elements}, dtype);
  runtime.categorize(buffer, Category::parameter);
  std::int64_t offset = 0;
  for (SubGroup& sub_group : sub_groups) {
    use_flat(sub_group, buffer, offset);
    offset += sub_group.numel;
  }
  return buffer;
}

void move_to_host_buffers(std::vector<SubGroup>& sub_groups, eager::Runtime& runtime, DType dtype,
                          std::optional<std::int64_t> most) {
  const std::vector<std::int64_t> sizes = buffer_sizes(sub_groups, most);
  const std::vector<Tensor> buffers = make_host_buffers(sizes, runtime, dtype);
  std::vector<std::int64_t> offsets(buffers.size());
  for (SubGroup& sub_group : sub_groups) {
    std::int64_t& offset = offsets[sub_group.group];
    if (offset + sub_group.numel <= sizes[sub_group.group]) {
      use_flat(sub_group, buffers[sub_group.group], offset);
    }
    offset += sub_group.numel;
  }
}

}  // namespace highwater::deepspeed
