// The whole of a simulated process's GPU memory at its peak, taken apart by MemoryPart.
//
// Tensors are those that live at the first moment of the highest allocated bytes. Reserved memory
// may have been higher at another moment; what it was above this moment's is a part of its own, so
// that the parts sum to peak reserved plus what lies outside the allocator.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/peak/holders.hpp"
#include "sim/peak/live_blocks.hpp"
#include "sim/replay/replay.hpp"
#include "workloads/estimates/terms/memory_part.hpp"

namespace highwater {

struct ProcessBreakdown {
  std::array<Bytes, kMemoryPartCount> bytes{};
  /// By origin: an operator in one place of the model, or a pool, which has no blocks. Largest
  /// first; they sum to `bytes`.
  std::array<std::vector<Holder<std::string>>, kMemoryPartCount> details;

  [[nodiscard]] Bytes of(MemoryPart part) const { return bytes[static_cast<std::size_t>(part)]; }

  [[nodiscard]] Bytes of(PartSet parts) const;

  /// All of them: what nvidia-smi would show.
  [[nodiscard]] Bytes total() const;
};

/// What a replay of the trace told before.
struct PeakOfReplay {
  std::size_t event = 0;  ///< after which most was allocated for the first time
  Bytes reserved;         ///< the highest of the whole run
  Bytes outside;          ///< the allocator: context and kernels
};

/// Replays `trace` as far as the peak's event. @pre `options` are those of the replay that told
/// `peak`
ProcessBreakdown process_breakdown(const RequestTrace& trace, ReplayOptions options,
                                   const PeakOfReplay& peak);

/// The most that each of `sets` came to in the first `events` events of the trace, each at its own
/// moment: requested bytes of the tensors in it.
std::vector<Bytes> highest_of(const RequestTrace& trace, std::size_t events,
                              std::span<const PartSet> sets);

/// Which part a live block of a generated trace belongs to.
MemoryPart part_of(const LiveBlock& block, const SideTables& tables);

}  // namespace highwater
