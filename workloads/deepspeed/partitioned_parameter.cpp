#include "workloads/deepspeed/partitioned_parameter.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/deepspeed/nvme.hpp"
#include "workloads/eager/host_copies.hpp"

namespace highwater::deepspeed {

using eager::Runtime;
using eager::Tensor;

namespace {

Tensor empty(Runtime& runtime, const char* op, const eager::Dims& sizes, DType dtype) {
  const eager::OpScope scope(runtime, op);
  return eager::empty(runtime, sizes, dtype);
}

Tensor moved(const Tensor& part, const PartitionedParameter& parameter) {
  return parameter.is_on_host ? eager::to_cuda(part) : part;
}

/// ds_tensor.to(device): a copy if the partition lives on the host.
Tensor on_device(const PartitionedParameter& parameter) {
  if (parameter.is_on_nvme) {  // by way of a buffer
    return empty(parameter.tensor.runtime(), "_to_copy", {parameter.partition_numel},
                 parameter.tensor.dtype());
  }
  return moved(parameter.partition, parameter);
}

/// The same of what is gathered by a Gather.
Tensor gathered_on_device(const PartitionedParameter& parameter) {
  return parameter.second_copy.defined() ? moved(parameter.second_copy, parameter)
                                         : on_device(parameter);
}

// NoGatherHandle, NoGatherCoalescedHandle: a single rank's partition is the whole parameter.
void use_partition(PartitionedParameter& parameter) {
  set_data(parameter.tensor, narrow_as(on_device(parameter), 0, parameter.sizes));
}

}  // namespace

void PartitionedParameter::split(PartitionRanks ranks, PartitionPlace where) {
  Runtime& runtime = tensor.runtime();
  is_on_host = where != PartitionPlace::gpu;
  is_pinned_ = where == PartitionPlace::pinned || where == PartitionPlace::nvme_and_pinned;
  sizes = tensor.sizes();
  numel = tensor.numel();
  partition_numel = (numel + ranks.all - 1) / ranks.all;
  if (ranks.sharing_second_copy > 0) {
    second_numel = partition_numel * ranks.all / ranks.sharing_second_copy;
    make_second_copy();
  }
  const bool uses_nvme = where == PartitionPlace::nvme || where == PartitionPlace::nvme_and_pinned;
  is_on_nvme = uses_nvme && is_swappable(partition_numel * item_size(tensor.dtype()));
  is_swapped_out = is_on_nvme;
  const eager::OpScope op(runtime, "deepspeed::partition");
  partition = eager::empty_on(runtime, is_on_host ? eager::Place::host : eager::Place::cuda,
                              {is_on_nvme ? 0 : partition_numel}, tensor.dtype());
  if (is_pinned_) {
    partition = eager::pin_memory(partition);
  }
  runtime.categorize(partition, Category::parameter);
  if (is_on_host) {
    runtime.synchronize();  // the host waits for its copy
  }
  release();
}

// _partition_param_sec, which waits for the copy.
void PartitionedParameter::make_second_copy() {
  Runtime& runtime = tensor.runtime();
  const eager::OpScope op(runtime, "deepspeed::partition");
  second_copy = eager::empty_on(runtime, is_on_host ? eager::Place::host : eager::Place::cuda,
                                {second_numel}, tensor.dtype());
  if (is_pinned_) {
    second_copy = eager::pin_memory(second_copy);
  }
  runtime.categorize(second_copy, Category::parameter);
  runtime.synchronize();
}

void PartitionedParameter::release() {
  Runtime& runtime = tensor.runtime();
  if (second_numel > 0 && !second_copy.defined()) {
    make_second_copy();
  }
  runtime.record_stream(tensor, runtime.stream);
  set_data(tensor, eager::empty(runtime, {0}, tensor.dtype()));
  status = ParameterStatus::partitioned;
}

Gather::Gather(dist::ProcessGroup& group, std::vector<PartitionedParameter*> parameters)
    : group_(group), parameters_(std::move(parameters)) {
  std::ranges::sort(parameters_, {}, &PartitionedParameter::id);
  for (PartitionedParameter* parameter : parameters_) {
    parameter->status = ParameterStatus::in_flight;
  }
  if (group_.size() == 1) {
    std::ranges::for_each(parameters_, [](auto* parameter) { use_partition(*parameter); });
  } else {
    parameters_.size() == 1 ? start_one() : start_several();
  }
}

void Gather::start_one() {
  PartitionedParameter& parameter = *parameters_.front();
  Runtime& runtime = group_.runtime();
  const Tensor buffer =
      empty(runtime, "deepspeed::all_gather", {parameter.gathered_numel() * group_.size()},
            parameter.tensor.dtype());
  runtime.categorize(buffer, Category::parameter);
  parts_.push_back({.parameters = parameters_,
                    .flat = {},
                    .work = group_.all_gather_async(buffer, gathered_on_device(parameter))});
  set_data(parameter.tensor, narrow_as(buffer, 0, parameter.sizes));
}

// _all_gather_coalesced: types in the order of their names.
void Gather::start_several() {
  std::map<std::string_view, std::vector<PartitionedParameter*>> by_type;
  for (PartitionedParameter* parameter : parameters_) {
    by_type[to_string(parameter->tensor.dtype())].push_back(parameter);
  }
  for (auto& [type, parameters] : by_type) {
    parts_.push_back(started(std::move(parameters)));
  }
}

// The partitions are concatenated in place: torch.cat(..., out=).
Gather::Part Gather::started(std::vector<PartitionedParameter*> parameters) {
  Runtime& runtime = group_.runtime();
  std::int64_t elements = 0;
  for (const PartitionedParameter* parameter : parameters) {
    elements += parameter->gathered_numel();
  }
  Part part;
  part.flat = empty(runtime, "deepspeed::all_gather_coalesced", {elements * group_.size()},
                    parameters.front()->tensor.dtype());
  runtime.categorize(part.flat, Category::communication);
  {
    std::vector<Tensor> inputs;
    for (const PartitionedParameter* parameter : parameters) {
      inputs.push_back(gathered_on_device(*parameter));
    }
    runtime.launch(1);
    eager::release_list(inputs);
  }
  part.work = group_.all_gather_async(part.flat, part.flat);
  part.parameters = std::move(parameters);
  return part;
}

void Gather::wait() {
  if (is_complete_) {
    return;
  }
  for (Part& part : parts_) {
    wait(part);
  }
  for (PartitionedParameter* parameter : parameters_) {
    parameter->status = ParameterStatus::available;
  }
  is_complete_ = true;
}

void Gather::wait(Part& part) {
  part.work.wait();
  if (!part.flat.defined()) {
    return;
  }
  for (PartitionedParameter* parameter : part.parameters) {
    const Tensor whole =
        empty(group_.runtime(), "cat", {parameter->numel}, parameter->tensor.dtype());
    group_.runtime().categorize(whole, Category::parameter);
    set_data(parameter->tensor, narrow_as(whole, 0, parameter->sizes));
  }
}

void gather_now(dist::ProcessGroup& group, PartitionedParameter& parameter) {
  Runtime& runtime = group.runtime();
  const DType dtype = parameter.tensor.dtype();
  const Tensor flat =
      empty(runtime, "deepspeed::all_gather", {parameter.partition_numel * group.size()}, dtype);
  group.all_gather_into_tensor(flat, flat);
  const Tensor whole = empty(runtime, "deepspeed::all_gather", parameter.sizes, dtype);
  set_data(parameter.tensor, whole);
  parameter.status = ParameterStatus::available;
}

void gather_sequentially(dist::ProcessGroup& group, PartitionedParameter& parameter) {
  Runtime& runtime = group.runtime();
  const Tensor flat = empty(runtime, "deepspeed::all_gather",
                            {parameter.partition_numel * group.size()}, parameter.tensor.dtype());
  runtime.categorize(flat, Category::parameter);
  group.all_gather_into_tensor(flat, on_device(parameter));
  set_data(parameter.tensor, narrow_as(flat, 0, parameter.sizes));
  parameter.status = ParameterStatus::available;
  runtime.synchronize();
}

void gather_now(dist::ProcessGroup& group, std::span<PartitionedParameter* const> parameters) {
  Runtime& runtime = group.runtime();
  if (group.size() == 1) {
    for (PartitionedParameter* parameter : parameters) {
      use_partition(*parameter);
      parameter->status = ParameterStatus::available;
    }
    return;
  }
  std::vector<Tensor> inputs;
  for (const PartitionedParameter* parameter : parameters) {
    inputs.push_back(on_device(*parameter));
  }
  std::vector<Tensor> gathered;
  for (const PartitionedParameter* parameter : parameters) {
    gathered.push_back(empty(runtime, "deepspeed::all_gather_coalesced",
                             {parameter->partition_numel * group.size()},
                             parameter->tensor.dtype()));
    runtime.categorize(gathered.back(), Category::parameter);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    group.all_gather_async(gathered[i], inputs[i]).wait();
    set_data(parameters[i]->tensor, narrow_as(gathered[i], 0, parameters[i]->sizes));
    parameters[i]->status = ParameterStatus::available;
  }
  runtime.synchronize();
  const Tensor input_tensor = inputs.back();  // a variable of the loop that gathers
  eager::release_list(inputs);
}

}  // namespace highwater::deepspeed
