#include "tools/html/report_run.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tools/reports/explain_words.hpp"
#include "tools/reports/simulate_report.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

std::vector<StackId> stacks_of(const RequestTrace& trace) {
  std::vector<StackId> stacks(trace.allocation_count);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      stacks[event.allocation.index()] = event.stack;
    }
  }
  return stacks;
}

/// The first allocation of each step that was found, and of what follows the last one.
std::vector<AllocationId> step_begins(const RequestTrace& trace, const Steps& steps) {
  std::vector<AllocationId> begins;
  if (steps.source == StepSource::none || steps.source == StepSource::markers) {
    return begins;
  }
  for (const StepSpan& span : steps.steps) {
    for (std::size_t i = span.begin; i < span.end; ++i) {
      if (trace.events[i].kind == EventKind::alloc) {
        begins.push_back(trace.events[i].allocation);
        break;
      }
    }
  }
  return begins;
}

std::string replay_verdict(const ReplayResult& result) {
  if (!result.ooms.empty()) {
    const OutOfMemory& oom = result.ooms.front().account;
    const bool often = result.counts.ooms > 1;
    return fmt::format(
        "Ran out of memory{}: asked for {} with {} reserved, of which {} lay unused{}",
        often ? fmt::format(" {} times", result.counts.ooms) : "", to_iec(oom.requested),
        to_iec(oom.reserved), to_iec(oom.reserved - std::min(oom.reserved, oom.active)),
        often ? " (the first time)" : "");
  }
  return fmt::format(
      "Reserved at most {}: {} ({:.1f} %) more than was ever in use at once",
      to_iec(result.peak.reserved),
      to_iec(result.peak.reserved - std::min(result.peak.reserved, result.peak.active)),
      100 * result.fragmentation.peak);
}

/// The subject that reserves most; a note names the others.
Subject chosen(std::vector<Subject> subjects, const std::string& name,
               std::vector<std::string>& notes) {
  if (subjects.empty()) {
    throw InputError(name, "devices", "the file has nothing about any device",
                     "record a snapshot of a process that uses the GPU");
  }
  const auto peak = [](const Subject& subject) { return subject.replay.result.peak.reserved; };
  const auto highest = std::ranges::max_element(subjects, {}, peak);
  std::string others;
  for (const Subject& subject : subjects) {
    if (&subject != &*highest) {
      others += fmt::format("{}device {} ({})", others.empty() ? "" : ", ", subject.replay.device,
                            to_iec(peak(subject)));
    }
  }
  if (!others.empty()) {
    notes.push_back(fmt::format("about device {}; the file also has {} (--device chooses)",
                                highest->replay.device, others));
  }
  return std::move(*highest);
}

/// Of a recording with the cause where a replay runs out of memory, too.
std::string verdict_of(const ReportRun& run) {
  const Explanation& explained = run.explained;
  if (explained.subject.simulation) {
    return verdict(*explained.subject.simulation);
  }
  return explained.oom ? explain_verdict(explained)
                       : replay_verdict(explained.subject.replay.result);
}

std::optional<Bytes> available_to(const Subject& subject) {
  if (subject.simulation) {
    return subject.simulation->available;
  }
  if (subject.options.memory_limit) {
    return subject.options.memory_limit;
  }
  if (subject.options.capacity && subject.options.fraction) {
    return Bytes{static_cast<std::uint64_t>(
        *subject.options.fraction * static_cast<double>(subject.options.capacity->count()))};
  }
  return subject.options.capacity;
}

RunOutcome outcome_of(const ReportRun& run) {
  if (run.explained.subject.replay.result.counts.ooms > 0) {
    return RunOutcome::out_of_memory;
  }
  return run.available ? RunOutcome::fits : RunOutcome::unlimited;
}

std::string title_of(const Subject& subject) {
  if (subject.is_plan()) {
    return subject.name;
  }
  return subject.name == "-" ? "standard input"
                             : std::filesystem::path(subject.name).filename().string();
}

void note_steps(ReportRun& run) {
  const StepSource source = run.explained.steps.source;
  if (source != StepSource::none && source != StepSource::markers) {
    run.notes.push_back(fmt::format("steps were found by {} (confidence {:.2f}); the file has none",
                                    to_string(source), run.explained.steps.confidence));
  }
}

}  // namespace

ReportRun run_for_report(SubjectRequest request) {
  request.watchable = true;
  ReportRun run;
  run.explained = explain(chosen(read_subjects(request), request.file.value_or("plan"), run.notes));
  const RequestTrace& trace = *run.explained.subject.trace;
  run.title = title_of(run.explained.subject);
  run.available = available_to(run.explained.subject);
  run.outcome = outcome_of(run);
  run.verdict = verdict_of(run);
  run.stacks = stacks_of(trace);
  note_steps(run);
  run.history = collect_history(trace.allocation_count, run.explained.subject.watch,
                                step_begins(trace, run.explained.steps));
  return run;
}

}  // namespace highwater
