#include "workloads/deepspeed/sub_groups.hpp"

#include <algorithm>

#include "workloads/deepspeed/tensor_data.hpp"
#include "workloads/eager/host_copies.hpp"

namespace highwater::deepspeed {

using eager::Tensor;

namespace {

// The parameters' partitions and the sub-group's are parts of one buffer.
void use_flat(SubGroup& sub_group, const Tensor& buffer, std::int64_t offset) {
  sub_group.flat = narrow_as(buffer, offset, {sub_group.numel});
  for (PartitionedParameter* parameter : sub_group.parameters) {
    set_data(parameter->partition, narrow_as(buffer, offset, {parameter->partition_numel}));
    offset += parameter->partition_numel;
  }
}

std::vector<Tensor> make_host_buffers(const std::vector<SubGroup>& sub_groups,
                                      eager::Runtime& runtime, DType dtype) {
  std::vector<std::int64_t> elements;
  for (const SubGroup& sub_group : sub_groups) {
    elements.resize(std::max(elements.size(), sub_group.group + 1));
    elements[sub_group.group] += sub_group.numel;
  }
  std::vector<Tensor> buffers;
  for (const std::int64_t numel : elements) {
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

void move_to_host_buffers(std::vector<SubGroup>& sub_groups, eager::Runtime& runtime, DType dtype) {
  const std::vector<Tensor> buffers = make_host_buffers(sub_groups, runtime, dtype);
  std::vector<std::int64_t> offsets(buffers.size());
  for (SubGroup& sub_group : sub_groups) {
    use_flat(sub_group, buffers[sub_group.group], offsets[sub_group.group]);
    offsets[sub_group.group] += sub_group.numel;
  }
}

}  // namespace highwater::deepspeed
