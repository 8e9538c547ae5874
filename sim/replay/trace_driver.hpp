// Drives the allocator model with the events of a request trace, one at a time.
//
// The driver keeps what the model does not know: which handle an allocation of the trace got, and
// what the trace's format allows (freeing twice, or freeing what failed, does nothing).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.hpp"
#include "traces/error.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// An operation of the trace that PyTorch would refuse. The driver does not know file names: a
/// caller that does rethrows the error as `in(name)`.
class OperationError : public InputError {
 public:
  OperationError(std::uint64_t operation, std::string_view problem, std::string_view remedy)
      : InputError("", "operation " + std::to_string(operation), problem, remedy) {}

  /// The same error with the name of the file in front.
  [[nodiscard]] InputError in(std::string_view source) const {
    return {source, where(), problem(), remedy()};
  }
};

/// Which limits hold while a trace is replayed.
enum class MemoryLimits : std::uint8_t {
  of_the_trace,  ///< its EventKind::memory_limit
  of_the_caller  ///< those that the replay begins with
};

class TraceDriver {
 public:
  /// Both must outlive the driver.
  TraceDriver(const RequestTrace& trace, CachingAllocator& allocator,
              MemoryLimits limits = MemoryLimits::of_the_trace);

  /// Carries out one event; the status matters for allocations only, else it is `ok`. Markers do
  /// nothing.
  /// @throws OperationError for a settings string or a pool operation that PyTorch would assert on,
  /// naming the operation.
  AllocationStatus apply(const Event& event);

  /// The handle of an allocation that is live, else none.
  [[nodiscard]] BlockId handle(AllocationId id) const { return handles_[id.index()]; }

  /// `id` has no handle any more, and `other` has it.
  void pass_handle(AllocationId id, AllocationId other) {
    handles_[other.index()] = std::exchange(handles_[id.index()], BlockId::none());
  }

  /// pass_handle() of `count` allocations from `first` on, in order, each to the one `by` before
  /// it.
  void pass_handles_back(AllocationId first, std::size_t count, std::size_t by) {
    const auto begin = handles_.begin() + static_cast<std::ptrdiff_t>(first.index());
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    const auto moved = std::move(begin, end, begin - static_cast<std::ptrdiff_t>(by));
    std::fill(std::max(moved, begin), end, BlockId::none());
  }

  /// Counts operations that were carried out without being asked for one by one.
  void count_repeated(std::uint64_t operations) { operations_ += operations; }

  void set_handle(AllocationId id, BlockId block) { handles_[id.index()] = block; }

  /// Operations carried out so far; the number of the current one while it is being carried out.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  /// empty_cache calls that the modelled release refuses (a pool session is open).
  [[nodiscard]] std::uint64_t refused_empty_caches() const { return refused_empty_caches_; }

 private:
  AllocationStatus allocate(const Event& event);
  void free(AllocationId id);
  void apply_pool(const Event& event);
  void apply_settings_change(const Event& event);
  void apply_memory_limit(const Event& event);

  const RequestTrace* trace_;
  CachingAllocator* allocator_;
  MemoryLimits limits_;
  std::vector<BlockId> handles_;  ///< by AllocationId
  std::uint64_t operations_ = 0;
  std::uint64_t refused_empty_caches_ = 0;
};

}  // namespace highwater
