// The moments of a replay that are worth a look: where a figure is highest, where memory ran out,
// where steps and the run end.
//
// A moment is a state: the one before the first event or the one after an event. Its number counts
// the states that an observer is shown, so that a second replay finds it again, to look at what the
// first one could not keep (the highest reserved is known only at the end).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "allocator/memory_map.hpp"
#include "allocator/settings/settings.hpp"
#include "sim/replay/replay_result.hpp"
#include "sim/replay/state_observer.hpp"
#include "traces/event.hpp"

namespace highwater {

enum class MomentKind : std::uint8_t {
  peak_reserved,
  peak_allocated,
  most_fragmented,  ///< most free bytes in segments that are in use (inactive_split_bytes)
  end,
  out_of_memory,
  step_end,
};

struct Moment {
  MomentKind kind = MomentKind::end;
  std::uint64_t state = 0;            ///< 0: before the first event; n: the n-th one that is shown
  std::uint64_t operations = 0;       ///< carried out by then
  std::optional<std::uint64_t> step;  ///< the step it lies in, once one began
  StringId phase;                     ///< the phase it lies in, none before the first marker
  StackId stack;                      ///< of the event
  Usage usage;

  /// Index of the event of the trace after which it is; of free replays, which show no others.
  [[nodiscard]] std::size_t event() const { return state == 0 ? 0 : state - 1; }

  /// Number of the last operation, from 0.
  [[nodiscard]] std::uint64_t operation() const { return operations == 0 ? 0 : operations - 1; }
};

/// How many are kept of the kinds that may come often.
struct MomentLimits {
  std::size_t ooms = 4;       ///< the first ones
  std::size_t step_ends = 4;  ///< the first ones, and the last
};

/// To be told of a replay, event by event.
class MomentFinder {
 public:
  /// `step_begins` are the first allocations of steps that no markers tell of, in order.
  explicit MomentFinder(std::vector<AllocationId> step_begins = {}, const MomentLimits& limits = {})
      : step_begins_(std::move(step_begins)), limits_(limits) {}

  /// Lets the state before the first event count as the highest so far.
  void begin(const Statistics& statistics);

  /// `operations` have been carried out, that of `event` included.
  void follow(const Event& event, AllocationStatus status, const Statistics& statistics,
              std::uint64_t operations);

  /// The highest so far, or the first failure.
  [[nodiscard]] std::optional<Moment> find(MomentKind kind) const;

  /// All, by time; several kinds may share a state.
  [[nodiscard]] std::vector<Moment> take();

 private:
  /// Kinds of which there is one.
  static constexpr std::size_t kSingleKinds = 4;

  [[nodiscard]] Moment here(MomentKind kind) const;
  void follow_marker(const Event& event);
  void begin_step(std::uint64_t step);
  void end_step();
  void raise(MomentKind kind, Bytes value);

  std::vector<AllocationId> step_begins_;
  std::size_t next_step_ = 0;
  MomentLimits limits_;
  Moment now_;
  std::array<Bytes, kSingleKinds> highest_{};                  ///< by MomentKind
  std::array<std::optional<Moment>, kSingleKinds> singles_{};  ///< by MomentKind
  std::vector<Moment> ooms_;
  std::vector<Moment> step_ends_;
};

/// The first moment of the highest reserved, the state before the first event included.
Moment find_peak_reserved(const WatchedReplay& replay);

/// What lies where at a moment.
struct MemoryState {
  MemoryMap map;
  std::vector<AllocationId> owners;  ///< per block of `map` in order; none if free or not known
  Settings settings;                 ///< of the allocator by then
};

/// The states at `moments`, which are in order of time. Carries out `replay`, of a trace with
/// `allocations` allocations.
std::vector<MemoryState> states_at(const std::vector<Moment>& moments, std::size_t allocations,
                                   const WatchedReplay& replay);

}  // namespace highwater
