#include "workloads/dist/process_group.hpp"

#include <array>

#include "workloads/eager/graph_recorder.hpp"

namespace highwater::dist {

using eager::Tensor;

void Work::wait() const {
  if (group_ != nullptr) {
    group_->runtime_.wait_for(group_->stream_, position_);
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
  runtime_.record_stream(tensor, stream_);
  return {*this, runtime_.position_of(stream_)};
}

Work ProcessGroup::all_reduce(const Tensor& tensor) {
  return in_place("c10d::allreduce_", tensor);
}

Work ProcessGroup::broadcast(const Tensor& tensor) {
  return in_place("c10d::broadcast_", tensor);
}

Work ProcessGroup::from_to(const char* name, const Tensor& input, const Tensor& output,
                           Blocking blocking) {
  const std::array tensors{input, output};
  const eager::RecordedScope record(runtime_, name, tensors);
  if (backend_ == CommBackend::fake) {
    return {};
  }
  if (blocking == Blocking::no) {
    runtime_.record_stream(input, stream_);
    runtime_.record_stream(output, stream_);
  }
  return {*this, runtime_.position_of(stream_)};
}

Work ProcessGroup::all_gather_into(const Tensor& output, const Tensor& input, Blocking blocking) {
  return from_to("c10d::_allgather_base_", input, output, blocking);
}

Work ProcessGroup::reduce_scatter_into(const Tensor& output, const Tensor& input,
                                       Blocking blocking) {
  return from_to("c10d::_reduce_scatter_base_", input, output, blocking);
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

// ProcessGroupNCCL.cpp: allgather. newLikeFlat makes the block; the copies run on NCCL's stream.
Work ProcessGroup::all_gather(std::span<const Tensor> outputs, const Tensor& input) {
  const eager::OpScope op(runtime_, "c10d::allgather_", 0);
  const eager::RecordedScope record(runtime_, "c10d::allgather_", outputs);
  if (backend_ == CommBackend::fake) {
    return {};
  }
  const Tensor flat = eager::empty(runtime_, {ranks_ * input.numel()}, input.dtype());
  runtime_.categorize(flat, Category::communication);
  runtime_.record_stream(input, stream_);
  runtime_.record_stream(flat, stream_);
  for (const Tensor& output : outputs) {
    runtime_.record_stream(output, stream_);
  }
  return {*this, runtime_.position_of(stream_)};
}

}  // namespace highwater::dist
