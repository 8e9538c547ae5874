#include "workloads/distributed/ddp/comm_hook.hpp"

#include "workloads/distributed/ddp/power_sgd_hook.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

constexpr std::size_t kStreamsPerPool = 32;  // c10/cuda/CUDAStream.cpp

class AllReduceHook : public CommHook {
 public:
  explicit AllReduceHook(ProcessGroup& group) : group_(group), streams_(group) {}

  HookFuture run(const GradBucket& bucket) override {
    return all_reduce_future(group_, streams_, bucket.buffer);
  }

 private:
  ProcessGroup& group_;
  CallbackStreams streams_;
};

// _compress_hook. The copy in `dtype` dies with the hook's frame; what NCCL and the callback still
// read is recorded on their streams. The sum is copied back into the buffer.
class CompressHook : public CommHook {
 public:
  CompressHook(ProcessGroup& group, DType dtype) : group_(group), streams_(group), dtype_(dtype) {}

  HookFuture run(const GradBucket& bucket) override {
    eager::Runtime& runtime = group_.runtime();
    const eager::NoGrad no_grad(runtime);
    const bool converts = bucket.buffer.dtype() != dtype_;
    const Tensor compressed = eager::to_dtype(bucket.buffer, dtype_);
    if (converts) {
      runtime.categorize(compressed, Category::communication);
    }
    runtime.launch(1);  // div_
    return streams_.then(group_.all_reduce(compressed), compressed, [&] {
      if (converts) {  // copy_ of a tensor to itself does nothing
        runtime.launch(1);
      }
    });
  }

 private:
  ProcessGroup& group_;
  CallbackStreams streams_;
  DType dtype_;
};

}  // namespace

void HookFuture::wait() const {
  if (runtime_ != nullptr) {
    runtime_->wait_for(stream_, end_);
  }
}

StreamId CallbackStreams::next() {
  const std::size_t place = next_++ % kStreamsPerPool;
  if (place == taken_.size()) {
    taken_.push_back(runtime_.make_stream());
  }
  return taken_[place];
}

HookFuture all_reduce_future(ProcessGroup& group, CallbackStreams& streams, const Tensor& buffer) {
  group.runtime().launch(1);  // div_
  return streams.then(group.all_reduce(buffer), buffer, [] {});
}

std::unique_ptr<CommHook> make_comm_hook(const Ddp& options, ProcessGroup& group) {
  switch (options.comm_hook) {
    case DdpCommHook::none:
      return nullptr;
    case DdpCommHook::allreduce:
      return std::make_unique<AllReduceHook>(group);
    case DdpCommHook::fp16_compress:
      return std::make_unique<CompressHook>(group, DType::fp16);
    case DdpCommHook::bf16_compress:
      return std::make_unique<CompressHook>(group, DType::bf16);
    case DdpCommHook::powersgd:
      return make_power_sgd_hook(options.power_sgd, group);
  }
  return nullptr;
}

}  // namespace highwater::dist
