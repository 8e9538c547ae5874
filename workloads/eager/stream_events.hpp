// When freed blocks that other streams still use become available again.
//
// Tensor.record_stream(s) makes the allocator record an event on s when the block is freed; the
// block returns to the cache when that event is found complete, which the allocator checks at the
// start of each allocation, stream by stream, oldest first (c10/cuda/CUDACachingAllocator.cpp:
// insert_events, process_events).
//
// How late an event completes depends on how far the GPU lags behind the host. Here it lags a given
// number of steps (EventDelay); each kernel launch is a step, and so is each query answered "not
// yet". An operator counts as one kernel unless its OpScope says otherwise; kernels of closed
// libraries (cuBLAS, NCCL), copies of memory and most operators in place are not counted. This is
// the model of the recordings' fake device (FAKE_CUDA_EVENT_LAG).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "traces/ids.hpp"

namespace highwater::eager {

/// How late events complete; 0 and 0: at once.
struct EventDelay {
  int launches = 0;  ///< kernel launches that the GPU is behind the host
  int queries = 0;   ///< an event is "not ready" this many times

  [[nodiscard]] bool is_none() const { return launches == 0 && queries == 0; }
};

/// A moment of the host's program: how many events and waits were issued before it.
using Moment = std::uint64_t;

class StreamEvents {
 public:
  explicit StreamEvents(EventDelay delay) : delay_(delay) {}

  [[nodiscard]] bool are_immediate() const { return delay_.is_none(); }

  /// The allocator's event on `stream`, which the trace knows under the name `name`.
  void record(StreamId stream, StreamId name);

  /// A program's own event (cudaEventRecord); the stream is named where the event is waited for.
  Moment record() { return ++now_; }

  /// `waiting` does nothing more until `other` has reached `moment` (cudaStreamWaitEvent).
  void wait(StreamId waiting, StreamId other, Moment moment);

  /// The host waits until `stream` has reached `moment` (cudaEventSynchronize), and so for
  /// everything that the stream had waited for.
  void synchronize(StreamId stream, Moment moment);

  /// The host waits for all work given to `stream` (cudaStreamSynchronize).
  void synchronize(StreamId stream) { synchronize(stream, now_); }

  void launch(int kernels) { launched_ += static_cast<std::uint64_t>(kernels); }

  /// The queries at the start of an allocation. Returns the names of the events found complete.
  std::vector<StreamId> query();

 private:
  struct Pending {
    StreamId name;
    Moment recorded;
    std::uint64_t launched;  ///< kernels before it
    int queries = 0;
  };

  struct Wait {
    Moment asked;
    StreamId other;
    Moment moment;
  };

  struct Queue {
    StreamId stream;
    std::deque<Pending> pending;
    std::vector<Wait> waits;  ///< whose completion the host has not seen
    Moment synced = 0;        ///< up to which the host knows that the stream has finished
  };

  [[nodiscard]] bool is_ready(const Queue& queue) const;
  Queue& queue_of(StreamId stream);

  EventDelay delay_;
  Moment now_ = 0;
  std::uint64_t launched_ = 0;
  std::deque<Queue> queues_;  ///< few streams; a deque, as references to them are kept
};

}  // namespace highwater::eager
