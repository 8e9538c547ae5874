// What the allocator decided, as a stream of small records: the history of the allocator.
//
// Same actions, order and sizes as PyTorch's own trace entries (record_trace), so a replay can be
// compared with a recording entry by entry.
#pragma once

#include "traces/address.hpp"
#include "traces/ids.hpp"
#include "traces/recording.hpp"
#include "traces/units.hpp"

namespace highwater {

struct Decision {
  RecordedAction action = RecordedAction::alloc;
  Address address;  ///< for oom: the device's free memory as a plain number, as in PyTorch
  Bytes size;       ///< requested for alloc and frees, real for segments, rounded for oom
  StreamId stream;

  bool operator==(const Decision&) const = default;
};

/// Receives every decision at the moment it is made.
class DecisionListener {
 public:
  DecisionListener() = default;
  DecisionListener(const DecisionListener&) = delete;
  DecisionListener& operator=(const DecisionListener&) = delete;
  virtual ~DecisionListener() = default;
  virtual void on_decision(const Decision& decision) = 0;
};

}  // namespace highwater
