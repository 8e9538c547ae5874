#include "tools/studies/runs/recording_check.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/studies/runs/workload.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/site_label.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

/// Figures of two allocators that differ by less are told as one.
constexpr double kExplainedWithin = 0.01;

double error_of(Bytes simulated, Bytes recorded) {
  return recorded == Bytes{}
             ? 0
             : static_cast<double>(simulated.count()) / static_cast<double>(recorded.count()) - 1;
}

bool has_history(const RecordedDevice& device) {
  return !device.entries.empty();
}

/// The device that reserves most, as it was recorded.
RecordedReplay recorded_replay(const RecordedPlan& plan) {
  std::optional<RecordedReplay> heaviest;
  for (const RecordedDevice& device : plan.recording->devices) {
    if (!has_history(device)) {
      continue;
    }
    RecordedReplay replay = replay_recorded(*plan.recording, device, plan.file, {});
    const auto reserved = [](const RecordedReplay& of) { return of.replay.result.peak.reserved; };
    if (!heaviest || reserved(replay) > reserved(*heaviest)) {
      heaviest = std::move(replay);
    }
  }
  if (!heaviest) {
    throw InputError(plan.file, "devices", "has no history to compare its plan with",
                     std::string(kHowToRecord));
  }
  return std::move(*heaviest);
}

/// The words that commands read themselves.
MemoryRequest recorded_memory(const OptionWords& words) {
  MemoryRequest memory;
  if (const std::string* const settings = find_word(words, "alloc-conf")) {
    memory.alloc_conf = *settings;
  }
  if (const std::string* const capacity = find_word(words, "capacity")) {
    memory.capacity = parse_bytes(*capacity);
  }
  return memory;
}

Simulation simulation_of(const RecordedPlan& plan) {
  OptionWords words = plan.words;
  std::erase_if(words, [](const OptionWord& word) { return find_option(word.first) == nullptr; });
  PlannedRun run = checked_run(words);
  if (const std::string* const rank = find_word(plan.words, "rank")) {
    run.plan.parallel.rank = parse_number<int>(*rank).value_or(0);
  }
  return simulate_requests(run, recorded_memory(plan.words));
}

std::string how_it_ended(bool ran_out) {
  return ran_out ? "ran out of memory" : "ran to its end";
}

std::string held(const Usage& usage) {
  return fmt::format("{} ({} allocated)", to_iec(usage.reserved), to_iec(usage.allocated));
}

}  // namespace

double RecordingCheck::allocated_error() const {
  return error_of(simulated.allocated, recorded.allocated);
}

double RecordingCheck::reserved_error() const {
  return error_of(simulated.reserved, recorded.reserved);
}

bool RecordingCheck::is_explained() const {
  return recorded_oom == simulated_oom && std::abs(allocated_error()) <= kExplainedWithin &&
         std::abs(reserved_error()) <= kExplainedWithin;
}

PeakSizes peak_sizes(const RequestTrace& first, const RequestTrace& second) {
  const auto named = [](const RequestTrace& trace) {
    return [&trace](StackId stack) { return site_label(trace.tables, stack); };
  };
  return compare_peak_sizes(first, second, named(first), named(second));
}

RecordingCheck check_recording(const RecordedPlan& plan) {
  const RecordedReplay recorded =
      with_progress("replaying the recording", [&] { return recorded_replay(plan); });
  const Simulation simulated =
      with_progress("comparing its plan with it", [&] { return simulation_of(plan); });
  const ReplayResult& before = recorded.replay.result;
  const ReplayResult& after = simulated.replay.result;
  return {.file = plan.file,
          .recorded = before.peak,
          .simulated = after.peak,
          .recorded_requests = before.counts.allocs,
          .simulated_requests = after.counts.allocs,
          .recorded_oom = before.counts.ooms > 0,
          .simulated_oom = after.counts.ooms > 0,
          .blocks = peak_sizes(recorded.requests(), *simulated.trace)};
}

std::string recording_clause(const RecordingCheck& check) {
  if (check.recorded_oom != check.simulated_oom) {
    return fmt::format("the recording {}, its plan {}: it does not explain the recording",
                       how_it_ended(check.recorded_oom), how_it_ended(check.simulated_oom));
  }
  std::string text = fmt::format("the recording held {}, its plan explains {}",
                                 held(check.recorded), held(check.simulated));
  if (!check.is_explained()) {
    text += fmt::format(": {:+.1f} % ({:+.1f} %)", 100 * check.reserved_error(),
                        100 * check.allocated_error());
  }
  return text;
}

}  // namespace highwater
