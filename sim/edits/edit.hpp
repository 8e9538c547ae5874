// Changes to a run that was: what the program would have asked for, had it been written otherwise.
//
// An edit rewrites the requests of one device, event by event; a replay of the result shows what
// the allocator would have made of the edited program. What the requests do not tell (the last use
// of a block, what the program would have done differently) is said with every answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/replay/neighbour.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// The call sites that an edit is about, by StackId.
struct SiteSet {
  std::vector<bool> stacks;
  bool without_stack = false;  ///< requests whose stack is not known, too

  [[nodiscard]] bool contains(StackId stack) const {
    return stack.has_value() ? stack.index() < stacks.size() && stacks[stack.index()]
                             : without_stack;
  }
};

/// One block of this size before everything else, given back at once: its segment stays cached.
struct Preallocate {
  Bytes bytes;
  std::uint64_t stream = 0;  ///< cudaStream_t
};

/// torch.cuda.empty_cache() at the end of every n-th step, or after every n-th allocation.
struct EmptyCaches {
  enum class Unit : std::uint8_t { steps, allocations };
  Unit unit = Unit::steps;
  std::uint64_t every = 1;
};

/// The blocks of these sites are not used on other streams.
struct DropRecordStreams {
  SiteSet sites;
};

/// The blocks are given back this many requests (allocations and frees) earlier.
struct FreeEarlier {
  SiteSet sites;
  std::uint64_t requests = 0;
};

/// The blocks are given back right after the last record_stream that the trace has of them.
struct FreeAtLastUse {
  SiteSet sites;
};

struct MoveToStream {
  SiteSet sites;
  std::uint64_t stream = 0;  ///< cudaStream_t
};

struct MoveToPool {
  SiteSet sites;
  PoolId pool;  ///< the default one: out of all private pools
};

/// Sizes times `factor`, to the nearest byte; with 0 the blocks do not exist.
struct ScaleSizes {
  SiteSet sites;
  double factor = 1;
};

struct DropStep {
  std::uint64_t step = 0;
};

struct RepeatStep {
  std::uint64_t step = 0;
  std::uint64_t times = 2;  ///< how often it happens in all
};

/// The captures of CUDA graphs (captures.hpp) in other pools, on other streams, in another order.
struct ArrangeCaptures {
  enum class Pools : std::uint8_t {
    kept,
    own,     ///< each has a pool of its own
    one,     ///< all share one
    listed,  ///< each of `together` shares one; the others keep theirs
  };
  enum class Streams : std::uint8_t {
    kept,
    own,  ///< each capture has streams that no other one uses
    one,  ///< captures of a pool use the streams of the first one in it
  };
  enum class Order : std::uint8_t {
    kept,
    largest_first,  ///< by the most bytes that are live in their pools
    smallest_first,
    listed,  ///< as `order` has them, each as often as it is named
  };
  Pools pools = Pools::kept;
  Streams streams = Streams::kept;
  Order order_by = Order::kept;
  std::vector<std::vector<std::size_t>> together;  ///< captures, from 0
  std::vector<std::size_t> order;
};

/// Another run behind this one, in the same process.
struct ThenRun {
  enum class Left : std::uint8_t {
    freed,  ///< what the first run still holds is given back in between
    kept,
  };
  std::shared_ptr<const RequestTrace> run;
  Left left = Left::freed;
};

/// Another run in a process of its own, on the same device at the same time.
struct BesideRun {
  /// Which of two requests comes first.
  enum class Order : std::uint8_t {
    automatic,  ///< clock if the two ran at the same time, else start, or share without times
    clock,      ///< as the recorded times say
    start,      ///< by the time since each began: both begin together
    share,      ///< each is as far as the other, in shares of its events
  };
  Neighbour neighbour;              ///< without turns
  std::vector<std::int64_t> times;  ///< of its events in microseconds; empty: not known
  Order order = Order::automatic;
};

using Edit = std::variant<Preallocate, EmptyCaches, DropRecordStreams, FreeEarlier, FreeAtLastUse,
                          MoveToStream, MoveToPool, ScaleSizes, DropStep, RepeatStep,
                          ArrangeCaptures, ThenRun, BesideRun>;

/// What an edit did, and on what it rests.
struct EditReport {
  std::string done;           ///< "4 calls of empty_cache added"
  std::uint64_t blocks = 0;   ///< allocations that it is about
  std::uint64_t changed = 0;  ///< of these, or of steps, caches and runs: how many it changed
  Bytes bytes;                ///< requested by what was changed
  std::vector<std::string> assumed;
  std::vector<std::string> unknown;  ///< what the requests cannot tell
};

/// A run that edits are made to.
struct EditedRun {
  RequestTrace trace;
  std::size_t older_events = 0;  ///< at the front, making blocks older than a recording
  /// Of its events, in microseconds; empty: not known, or the events are not those that had them.
  std::vector<std::int64_t> times = {};
  std::shared_ptr<const Neighbour> beside = nullptr;  ///< another process on the device
};

/// Every request, whatever is known of its site.
SiteSet all_sites(const RequestTrace& trace);

/// The whole trace, to be edited.
RequestTrace copy_of(const RequestTrace& trace);

/// Carries out one edit. Linear in the events; besides the events it takes a few bytes for each
/// allocation.
/// @throws UsageError if the run lacks what is to be edited (a step of that number)
EditReport apply_edit(const Edit& edit, EditedRun& run);

}  // namespace highwater
