// When freed blocks that other streams still use become available again.
//
// Tensor.record_stream(s) makes the allocator record an event on s when the block is freed; the
// block returns to the cache when that event is found complete, which the allocator asks at the
// start of each allocation, stream by stream, oldest first
// (c10/cuda/CUDACachingAllocator.cpp: insert_events, process_events).
//
// How late an event completes depends on how far the GPU is behind the host. Here it is so many
// steps behind (EventDelay); each kernel launch is a step and each question that was answered
// "not yet" is one, too. An operator counts as one kernel unless its OpScope says otherwise;
// kernels of closed libraries (cuBLAS, NCCL), copies of memory and most operators in place are not
// counted. This is the model of the recordings' fake device (FAKE_CUDA_EVENT_LAG).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "traces/ids.hpp"

namespace highwater::eager {

/// How late events complete; 0 and 0: at once.
struct EventDelay {
  int launches = 0;  ///< kernel launches that the GPU is behind the host
  int queries = 0;   ///< an event is "not ready" so many times

  [[nodiscard]] bool is_none() const { return launches == 0 && queries == 0; }
};

class StreamEvents {
 public:
  explicit StreamEvents(EventDelay delay) : delay_(delay) {}

  [[nodiscard]] bool are_immediate() const { return delay_.is_none(); }

  /// An event on `stream` that the trace knows under the name `name`.
  void record(StreamId stream, StreamId name);

  /// Events recorded on `stream` so far.
  [[nodiscard]] std::uint64_t recorded(StreamId stream) const;

  /// The main stream waits for the first `count` events of `stream` (cudaStreamWaitEvent).
  void wait(StreamId stream, std::uint64_t count);

  /// The host waits for the main stream, and so for all that it has waited for.
  void synchronize();

  void launch(int kernels) { launched_ += static_cast<std::uint64_t>(kernels); }

  /// The questions at the start of an allocation. Returned are the names of the events that were
  /// found complete.
  std::vector<StreamId> query();

 private:
  struct Pending {
    StreamId name;
    std::uint64_t launched;  ///< kernels before it
    int queries = 0;
  };

  struct Queue {
    StreamId stream;
    std::deque<Pending> pending;
    std::uint64_t popped = 0;  ///< events that left the queue
    std::uint64_t waited = 0;  ///< events that the main stream has waited for
    std::uint64_t synced = 0;  ///< events that the host knows to be complete
  };

  [[nodiscard]] bool is_ready(const Queue& queue) const;
  Queue& queue_of(StreamId stream);

  EventDelay delay_;
  std::uint64_t launched_ = 0;
  std::vector<Queue> queues_;  ///< few streams
};

}  // namespace highwater::eager
