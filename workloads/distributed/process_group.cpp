#include "workloads/distributed/process_group.hpp"

#include <array>

#include "workloads/eager/graph_recorder.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

constexpr Release kGathersInPlace{2, 15};
constexpr Release kRecordsNothing{2, 8};

}  // namespace

void Work::wait() const {
  if (group_ != nullptr) {
    group_->runtime_.wait_for(group_->stream_, end_);
  }
}

ProcessGroup::ProcessGroup(eager::Runtime& runtime, int ranks, CommBackend backend)
    : runtime_(runtime), ranks_(ranks), backend_(backend) {
  if (backend == CommBackend::nccl) {
    stream_ = runtime.make_stream();
  }
}

Work ProcessGroup::in_place(const char* name, const Tensor& tensor) {
  const eager::RecordedScope record(runtime_, name, std::span(&tensor, 1));
  if (backend_ == CommBackend::fake) {
    return {};
  }
  use(tensor);
  return start();
}

bool ProcessGroup::records_streams() const {
  return runtime_.torch < kRecordsNothing;
}

// The next collective works on `tensor`.
void ProcessGroup::use(const Tensor& tensor) {
  if (records_streams()) {
    runtime_.record_stream(tensor, stream_);
  }
}

// NCCL's stream waits for the current one first (ProcessGroupNCCL.cpp: syncStream).
Work ProcessGroup::start() {
  runtime_.wait_stream(stream_, runtime_.stream);
  return {*this, runtime_.record_event()};
}

Work ProcessGroup::all_reduce(const Tensor& tensor) {
  return in_place("c10d::allreduce_", tensor);
}

Work ProcessGroup::broadcast(const Tensor& tensor) {
  return in_place("c10d::broadcast_", tensor);
}

Work ProcessGroup::send(const Tensor& tensor) {
  return in_place("c10d::send", tensor);
}

Work ProcessGroup::receive(const Tensor& tensor) {
  return in_place("c10d::recv_", tensor);
}

// ProcessGroupNCCL.cpp: _allgather_base and _reduce_scatter_base, whose avoidRecordStreams is true
// if asyncOp is false.
void ProcessGroup::all_gather_into_tensor(const Tensor& whole, const Tensor& part) {
  const std::array operands{part, whole};
  const eager::RecordedScope record(runtime_, "c10d::_allgather_base_", operands);
  if (backend_ == CommBackend::nccl && records_streams()) {
    start().wait();
  }
}

// Nothing waits yet, so both blocks are recorded on NCCL's stream.
Work ProcessGroup::async(const char* name, const Tensor& part, const Tensor& whole) {
  const std::array operands{part, whole};
  const eager::RecordedScope record(runtime_, name, operands);
  if (backend_ == CommBackend::fake) {
    return {};
  }
  use(part);
  use(whole);
  return start();
}

Work ProcessGroup::all_gather_async(const Tensor& whole, const Tensor& part) {
  return async("c10d::_allgather_base_", part, whole);
}

Work ProcessGroup::all_gather_functional(const Tensor& whole, const Tensor& part) {
  return from_input("c10d::allgather_into_tensor_coalesced_", part, whole);
}

void ProcessGroup::reduce_scatter_tensor(const Tensor& part, const Tensor& whole) {
  const std::array operands{whole, part};
  const eager::RecordedScope record(runtime_, "c10d::_reduce_scatter_base_", operands);
  if (backend_ == CommBackend::nccl && records_streams()) {
    start().wait();
  }
}

Work ProcessGroup::reduce_scatter_async(const Tensor& part, const Tensor& whole) {
  return async("c10d::_reduce_scatter_base_", whole, part);
}

// c10d/Ops.cpp passes a byte on the device through the dispatcher; ProcessGroupNCCL.cpp reduces a
// float.
void ProcessGroup::barrier() {
  const eager::OpScope op(runtime_, "c10d::barrier", 0);
  barrier_token_ = eager::empty(runtime_, {1}, DType::uint8);
  runtime_.categorize(barrier_token_, Category::communication);
  const Tensor number = eager::empty(runtime_, {1}, DType::fp32);
  runtime_.categorize(number, Category::communication);
  all_reduce(number).wait();
  runtime_.synchronize();
}

// ProcessGroupNCCL.cpp: collectiveCoalesced() records the inputs; outputs are the caller's to keep.
Work ProcessGroup::from_input(const char* name, const Tensor& input, const Tensor& output) {
  const std::array operands{input, output};
  const eager::RecordedScope record(runtime_, name, operands);
  if (backend_ == CommBackend::fake) {
    return {};
  }
  use(input);
  return start();
}

Work ProcessGroup::all_to_all_single(const Tensor& output, const Tensor& input) {
  return async("c10d::alltoall_base_", input, output);
}

// ProcessGroupNCCL.cpp: allgather. newLikeFlat makes the block; the copies run on NCCL's stream.
// 2.15 gathers without one.
Work ProcessGroup::all_gather(std::span<const Tensor> outputs, const Tensor& input) {
  const eager::OpScope op(runtime_, "c10d::allgather_", 0);
  const eager::RecordedScope record(runtime_, "c10d::allgather_", outputs);
  if (backend_ == CommBackend::fake) {
    return {};
  }
  use(input);
  Tensor flat;
  if (runtime_.torch < kGathersInPlace) {
    flat = eager::empty(runtime_, {ranks_ * input.numel()}, input.dtype());
    runtime_.categorize(flat, Category::communication);
    use(flat);
  }
  for (const Tensor& output : outputs) {
    use(output);
  }
  return start();
}

// ProcessGroupNCCL.cpp: reduce_scatter with a list of inputs.
Work ProcessGroup::reduce_scatter(const Tensor& output, std::span<const Tensor> inputs) {
  const eager::OpScope op(runtime_, "c10d::reduce_scatter_", 0);
  const eager::RecordedScope record(runtime_, "c10d::reduce_scatter_", inputs);
  if (backend_ == CommBackend::fake) {
    return {};
  }
  const Tensor flat = eager::empty(runtime_, {ranks_ * output.numel()}, output.dtype());
  runtime_.categorize(flat, Category::communication);
  for (const Tensor& input : inputs) {
    use(input);
  }
  use(flat);
  use(output);
  return start();
}

}  // namespace highwater::dist
