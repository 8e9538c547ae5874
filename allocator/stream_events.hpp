// Events of other streams that freed blocks wait for, and when they complete.
//
// PyTorch records one CUDA event per other stream when a block with stream uses is freed, and
// checks the heads of the streams' queues at each allocation. When events complete is decided
// outside: callers report it (complete), it is never guessed. Source: insert_events, process_events
// and synchronize_and_free_events of c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0. Queues are
// visited in stream order; the original visits them in hash order, which can only change totals and
// peaks of inactive_split statistics.
#pragma once

#include <cstddef>

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>

#include "allocator/block.hpp"
#include "traces/ids.hpp"

namespace highwater {

/// The other streams that use one block, and which of those uses were noted in a pool session.
struct StreamUses {
  using Streams = boost::container::small_vector<StreamId, 2>;

  Streams streams;              ///< a set, ascending
  Streams in_session;           ///< a set, ascending
  std::size_t outstanding = 0;  ///< events that the freed block waits for

  bool operator==(const StreamUses&) const = default;
};

class StreamEvents {
 public:
  /// The blocks that wait, oldest event first, of the streams that have any: few of both, as a
  /// rule.
  using Queue = boost::container::small_vector<BlockId, 4>;
  using Queues = boost::container::flat_map<StreamId, Queue>;

  /// Records the next event of `stream`, for which `block` waits.
  void record(StreamId stream, BlockId block);

  /// All events recorded so far on `stream` are complete.
  void complete(StreamId stream);
  void complete_all();

  [[nodiscard]] const Queues& recorded() const { return recorded_; }

  /// Those that were not taken so far.
  [[nodiscard]] const Queues& completed() const { return completed_; }

  /// Whether any event has completed and was not taken so far.
  [[nodiscard]] bool has_completed() const { return !completed_.empty(); }

  /// Takes the completed events, stream by stream and in order, and gives the block of each to
  /// `finish`.
  template <class Finish>
  void take_completed(Finish finish) {
    for (const auto& [stream, blocks] : completed_) {
      for (const BlockId block : blocks) {
        finish(block);
      }
    }
    completed_.clear();
  }

  /// Waits for every recorded event, then takes them all.
  template <class Finish>
  void take_all(Finish finish) {
    complete_all();
    take_completed(finish);
  }

 private:
  void complete(StreamId stream, Queue queue);

  Queues recorded_;
  Queues completed_;  ///< and not taken so far
};

}  // namespace highwater
