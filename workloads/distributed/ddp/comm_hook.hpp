// DDP's communication hooks: what reduces a full bucket instead of the reducer's own all-reduce.
//
// Mirrors torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py of PyTorch 2.6. A hook
// returns a future. Whatever it chains with Future.then runs at once, because NCCL's futures are
// complete when they are created, but on a stream of the pool, which waits for the collective and
// on which the future's tensors are recorded (ATen/core/ivalue_inl.h: invokeCallback).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "workloads/distributed/process_group.hpp"
#include "workloads/plan/ddp_options.hpp"

namespace highwater::dist {

/// A bucket as a hook sees it (c10d::GradBucket).
struct GradBucket {
  std::size_t index = 0;
  bool is_last = false;
  const eager::Tensor& buffer;               ///< one flat block
  std::span<const eager::Tensor> gradients;  ///< views into it, one per parameter
};

/// What a hook returns (torch.futures.Future): its value is the bucket's buffer.
class HookFuture {
 public:
  /// There is nothing to wait for.
  HookFuture() = default;

  HookFuture(eager::Runtime& runtime, StreamId stream, eager::Moment end)
      : runtime_(&runtime), stream_(stream), end_(end) {}

  /// The current stream waits for the work of the callbacks' streams; the host does not.
  void wait() const;

 private:
  eager::Runtime* runtime_ = nullptr;
  StreamId stream_;
  eager::Moment end_ = 0;
};

/// A hook registered by the program.
class CommHook {
 public:
  CommHook() = default;
  CommHook(const CommHook&) = delete;
  CommHook& operator=(const CommHook&) = delete;
  virtual ~CommHook() = default;

  /// Called when the bucket is full; the reducer waits once the backward has finished.
  virtual HookFuture run(const GradBucket& bucket) = 0;
};

/// The streams on which callbacks run: the pool's, in turn (c10/cuda/CUDAStream.cpp:
/// getStreamFromPool). NCCL has taken the first.
class CallbackStreams {
 public:
  explicit CallbackStreams(ProcessGroup& group) : runtime_(group.runtime()) {}

  /// Future.then: `callback` runs on a stream that waits for `work`, whose value is `value`.
  /// Returns its own future.
  template <class Awaited, class Callback>
  HookFuture then(const Awaited& work, const eager::Tensor& value, Callback callback) {
    const StreamId stream = next();
    const eager::OnStream on_stream(runtime_, stream);
    work.wait();
    runtime_.record_stream(value, stream);
    callback();
    return {runtime_, stream, runtime_.record_event()};
  }

  /// Those that were used so far.
  [[nodiscard]] const std::vector<StreamId>& taken() const { return taken_; }

 private:
  StreamId next();

  eager::Runtime& runtime_;
  std::vector<StreamId> taken_;
  std::size_t next_ = 0;
};

/// allreduce_hook: the buffer is divided in place, then summed.
HookFuture all_reduce_future(ProcessGroup& group, CallbackStreams& streams,
                             const eager::Tensor& buffer);

/// The hook that `options` name; null for none. `group` must outlive it.
std::unique_ptr<CommHook> make_comm_hook(const Ddp& options, ProcessGroup& group);

}  // namespace highwater::dist
