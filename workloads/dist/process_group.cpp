#include "workloads/dist/process_group.hpp"

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
    runtime_.record_stream(input, stream_);
  }
  runtime_.record_stream(flat, stream_);
  runtime_.record_stream(output, stream_);
  return {*this, runtime_.position_of(stream_)};
}

}  // namespace highwater::dist
