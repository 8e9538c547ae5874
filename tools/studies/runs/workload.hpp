// What a what-if question is asked about: one device of a file, or a plan.
//
// Whatever it comes from, it is requests that can be replayed under any settings, the options under
// which they ran, and what happened under these. sweep, explain, advise, report and export work on
// workloads alone, so recordings and plans are treated alike.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/recordings/event_times.hpp"
#include "sim/recordings/fidelity.hpp"
#include "sim/recordings/recorded_limit.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/state_observer.hpp"
#include "sim/steps/training_steps.hpp"
#include "tools/edits/edit_words.hpp"
#include "tools/files/input.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

struct Simulation;

/// What to do about a snapshot without history.
inline constexpr std::string_view kHowToRecord =
    "record with torch.cuda.memory._record_memory_history(max_entries=1000000) before the run, or "
    "with highwater record";

struct Workload {
  std::string name;       ///< the file as it was given, or the plan in words
  DeviceReplay replay;    ///< what happened: as recorded, or under the settings asked for
  ReplayOptions options;  ///< for replays of `trace` under the same settings and limits
  std::shared_ptr<const RequestTrace> trace;  ///< blocks older than a recording come first
  std::size_t older_events = 0;               ///< at the front of `trace`, which make those blocks
  std::optional<Fidelity> fidelity;           ///< recordings: as recorded, whatever was asked
  std::optional<RecordedLimit> limit;         ///< recordings that note one or ran out of memory
  /// Recordings: for a replay of `trace` as the recorded process ran, whatever was asked.
  std::optional<ReplayOptions> as_recorded;
  std::shared_ptr<const Simulation> simulation;  ///< plans; its trace and replay are those above
  const Gpu* gpu = nullptr;                      ///< files: what it is asked to run on, if named
  ReadingOptions reading;                        ///< of files that edits name
  std::vector<std::int64_t>
      event_times;  ///< of `trace` in microseconds; recordings that are `timed`
  /// Carries out `replay` again and shows every state of it: following the recording where that
  /// did. Only if the request said `watchable`.
  std::function<void(StateObserver&)> watch;
  OperationTimes times;  ///< recordings: of the operations that `watch` shows; only with it

  [[nodiscard]] bool is_plan() const { return simulation != nullptr; }

  /// False for a snapshot that only shows the state when it was taken.
  [[nodiscard]] bool has_history() const;

  /// Whether a recorded request failed, and under which limit is known.
  [[nodiscard]] bool ran_out() const;

  /// Whether the memory is bounded by what the recording shows, and by nothing better known.
  [[nodiscard]] bool is_limit_shown() const;

  /// Who asked for a block: a line of the program, or operator and module.
  [[nodiscard]] std::string site(StackId stack) const;

  /// The trust line of the replay or of the simulation.
  [[nodiscard]] std::string trust() const;
};

/// @throws InputError unless the file `name` holds any workload
void require_workloads(const std::vector<Workload>& workloads, const std::string& name);

/// Before a what-if of a recording: compares its requests under its own settings with what was
/// recorded (own_settings.hpp). What is no recording has nothing to compare.
void check_itself(Workload& workload);

/// Makes the edits to its requests, one after the other, and replays the result under the
/// workload's own settings and limits; what was recorded is not followed any more
/// (edited_workload.cpp).
/// @throws UsageError that names the edit; InputError for another run that cannot be read
void edit_workload(const std::vector<EditWords>& edits, Workload& workload);

/// The steps of the run. What merely sets up blocks older than a recording repeats sizes, too, but
/// is no run: steps found in it do not count.
Steps steps_of(const Workload& workload);

/// A plan that was simulated; it can be watched.
Workload workload_of(Simulation simulation);

/// Devices of one process are recorded together: with a history of any, those without one did
/// nothing meanwhile. `therefore` says what cannot be told without.
/// @throws InputError if there is none
void require_history(const std::vector<Workload>& workloads, std::string_view therefore);

}  // namespace highwater
