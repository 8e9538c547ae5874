// One event of a request trace: what the program asked the allocator for, without any address.
//
// The record is 24 bytes and trivially copyable, so that 100 million of them fit in memory and
// stream; names, stacks and pools are dense ids into the tables of the trace that holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "traces/ids.hpp"
#include "traces/units.hpp"

namespace highwater {

enum class EventKind : std::uint8_t {
  // Operations: calls to the allocator.
  alloc,             ///< `value` bytes on `stream` as `allocation`
  free,              ///< give `allocation` back
  record_stream,     ///< `allocation` is also used on `stream` (Tensor.record_stream)
  stream_done,       ///< every event recorded so far on `stream` has completed
  all_streams_done,  ///< the same for every stream
  empty_cache,       ///< torch.cuda.empty_cache()
  reset_peaks,       ///< torch.cuda.reset_peak_memory_stats()
  pool_begin,        ///< allocations of all streams go to `pool` from here on; `value`: its options
  pool_end,          ///< `pool` takes no new allocations any more
  pool_retire,       ///< the torch.cuda.MemPool of `pool` is deleted while graphs still use the
                     ///< pool: its memory serves no other request any more (use_on_oom)
  pool_release,      ///< `pool` has one user fewer; at 0 its cached memory may be returned, and is
                     ///< returned at once if `value` is 1 (torch.cuda.MemPool is deleted)
  set_settings,      ///< the settings string `value` (a StringId) is applied at run time
  memory_limit,  ///< from here on the process may reserve `value` bytes, or as many as there are
                 ///< if that is kNoLimit (torch.cuda.set_per_process_memory_fraction)
  // Markers: positions in the training run; they request nothing from the allocator.
  step,   ///< training step number `value` begins
  phase,  ///< phase `value` (a StringId) begins: init, forward, backward, ...
  op,     ///< operator or module `value` (a StringId) begins
};

/// Event::value of a memory_limit that takes an earlier one back.
inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

/// What a block is for, so that reports can break a peak down. `unknown` in recordings.
enum class Category : std::uint8_t {
  unknown,
  parameter,
  gradient,
  optimizer_state,
  activation,
  temporary,
  workspace,
  input,
  buffer,
  communication,
  weight_copy,  ///< a parameter in another type (autocast's cache) or gathered from its shards
};

inline constexpr std::size_t kCategoryCount =
    static_cast<std::size_t>(Category::weight_copy) + std::size_t{1};

/// "gradient", "optimizer_state", ...; the words used in files and reports.
std::string_view to_string(Category category);

/// A private pool of a trace, an index into RequestTrace::pools.
using PoolIndex = std::uint16_t;

struct Event {
  std::uint64_t value = 0;  ///< bytes, step number or StringId, as EventKind says
  AllocationId allocation;
  StreamId stream;
  StackId stack;  ///< call site, if known
  EventKind kind = EventKind::alloc;
  Category category = Category::unknown;
  PoolIndex pool = 0;  ///< of an allocation in a CompactTrace: equal_blocks()

  bool operator==(const Event&) const = default;

  /// Blocks of one size that this allocation stands for, in a CompactTrace: each asks for its part
  /// of `value`. 0: it is one block.
  [[nodiscard]] std::uint16_t equal_blocks() const { return kind == EventKind::alloc ? pool : 0; }

  [[nodiscard]] Bytes bytes() const { return Bytes{value}; }

  [[nodiscard]] StringId text() const { return StringId{static_cast<std::uint32_t>(value)}; }

  [[nodiscard]] bool is_operation() const { return kind < EventKind::step; }
};

static_assert(sizeof(Event) == 24 && std::is_trivially_copyable_v<Event>);

}  // namespace highwater
