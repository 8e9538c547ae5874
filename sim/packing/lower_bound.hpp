// How little memory a run could have managed with: what settings can save and what they cannot.
//
//   live     the most bytes asked for and alive at once: no allocator can manage with less
//   packed   the same blocks, rounded to 512 bytes, placed by an offline packing (packing.hpp):
//            reachable by an allocator that knows the future and moves nothing
//   expandable, standard   the peak of reserved of replays with expandable segments and without
//
// live <= live_rounded <= optimum <= packed. The packing is one address space for everything: it
// ignores streams, private pools and the small/large pools, and a block ends when its free is
// requested, though another stream may still use it. So `packed` may be out of reach for programs
// that use several streams; the bounds below it hold regardless.
#pragma once

#include <optional>

#include "sim/packing/packing.hpp"
#include "sim/peak/lifetimes.hpp"
#include "sim/replay/replay.hpp"

namespace highwater {

struct LowerBound {
  Bytes live;                             ///< the most requested bytes alive at once
  Bytes live_rounded;                     ///< the same with every request rounded up to 512 bytes
  std::uint64_t live_operation = 0;       ///< the operation that first reaches `live`
  Bytes packed;                           ///< the height of `packing`
  std::vector<AllocationId> allocations;  ///< of `packing.offsets`, index by index
  Packing packing;                        ///< the certificate: a placement that anyone can check

  /// packed / live_rounded - 1: how far `packed` may be above the optimum; 0 = it is the optimum.
  [[nodiscard]] double gap() const;
};

/// @throws InputError when the sizes sum to more than 62 bits hold.
LowerBound lower_bound_of(const RequestTrace& trace, const PackingEffort& effort = {});

/// The four bars of a run, and its own settings beside them.
struct FourBars {
  LowerBound bound;      ///< bars one and two: bound.live and bound.packed
  ReplayBar expandable;  ///< the settings given, with expandable_segments:True
  ReplayBar standard;    ///< default settings
  ReplayBar own;         ///< the settings given

  /// The most that any allocator could save over the settings given; 0 if they ran out of memory.
  [[nodiscard]] Bytes most_to_win() const;
};

/// Packs and replays at the same time on several threads. `own` is the bar of `options`. Capacity
/// and limits of `options` hold for the replays (without them the bars are comparable even where
/// one would run out); its observer, listener and decisions are left out.
/// @throws InputError as replay() and lower_bound_of() do.
FourBars four_bars(const RequestTrace& trace, const ReplayOptions& options, const ReplayBar& own,
                   const PackingEffort& effort = {});

}  // namespace highwater
