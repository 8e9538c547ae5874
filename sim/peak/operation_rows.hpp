// A replay as rows: each operation, the block that it concerns, and the state after it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "sim/replay/replay_result.hpp"
#include "sim/replay/state_observer.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

struct OperationRow {
  std::uint64_t operation = 0;  ///< counted from 0; markers are not counted
  EventKind kind = EventKind::alloc;
  AllocationStatus status = AllocationStatus::ok;  ///< of an alloc
  AllocationId allocation;                         ///< none if the operation concerns no block
  Bytes bytes;                                     ///< requested for the block
  StreamId stream;                                 ///< of the block, or that the operation names
  std::optional<Address> address;                  ///< of the block, while it has one
  Usage after;
  std::optional<std::uint64_t> step;
  StringId phase;  ///< none before the first phase marker
  StackId stack;   ///< of the call; for a free without one, of the block's allocation
};

/// A block older than a recording, and the stack of its allocation where that is known.
using OlderBlockStack = std::pair<AllocationId, StackId>;

class OperationRows : public StateObserver {
 public:
  using Sink = std::function<void(const OperationRow&)>;

  /// `trace` is what is replayed; it and `older` must outlive the observer. Each row goes to `sink`
  /// as soon as its operation is done.
  OperationRows(const RequestTrace& trace, const std::vector<OlderBlockStack>& older, Sink sink);

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override;
  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override;

 private:
  struct Held {
    Bytes requested;
    StreamId stream;
    StackId stack;
    std::optional<Address> address;
  };

  void note_alloc(const Event& event, const CachingAllocator& allocator, const TraceDriver& driver);

  const RequestTrace* trace_;
  const std::vector<OlderBlockStack>* older_;
  Sink sink_;
  std::vector<Held> held_;  ///< by AllocationId
  OperationRow row_;
};

}  // namespace highwater
