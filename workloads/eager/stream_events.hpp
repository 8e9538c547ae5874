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

/// A moment of the host's program: how many events were recorded and waits asked for before it.
using Moment = std::uint64_t;

class StreamEvents {
 public:
  explicit StreamEvents(EventDelay delay) : delay_(delay) {}

  [[nodiscard]] bool are_immediate() const { return delay_.is_none(); }

  /// The allocator's event on `stream`, which the trace knows under the name `name`.
  void record(StreamId stream, StreamId name);

  /// A program's own event (cudaEventRecord); the stream is named where the event is waited for.
  Moment record() { return ++now_; }

  /// `waiting` does nothing more before `other` has come to `moment` (cudaStreamWaitEvent).
  void wait(StreamId waiting, StreamId other, Moment moment);

  /// The host waits until `stream` has come to `moment` (cudaEventSynchronize), and so for all that
  /// the stream has waited for before.
  void synchronize(StreamId stream, Moment moment);

  /// The host waits for all that `stream` was given (cudaStreamSynchronize).
  void synchronize(StreamId stream) { synchronize(stream, now_); }

  void launch(int kernels) { launched_ += static_cast<std::uint64_t>(kernels); }

  /// The questions at the start of an allocation. Returned are the names of the events that were
  /// found complete.
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
    std::vector<Wait> waits;  ///< whose end the host does not know of
    Moment synced = 0;        ///< up to which the host knows that the stream is through
  };

  [[nodiscard]] bool is_ready(const Queue& queue) const;
  Queue& queue_of(StreamId stream);

  EventDelay delay_;
  Moment now_ = 0;
  std::uint64_t launched_ = 0;
  std::deque<Queue> queues_;  ///< few streams; a deque, as references to them are kept
};

}  // namespace highwater::eager
