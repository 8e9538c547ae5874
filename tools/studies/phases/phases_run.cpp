#include "tools/studies/phases/phases_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/edits/edit.hpp"
#include "sim/edits/rewriting.hpp"
#include "sim/edits/steps_of_run.hpp"
#include "sim/replay/phase_peaks.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

/// How many of its parts a program takes in all.
std::uint64_t parts_wanted(const PhasesQuestion& question, std::size_t program) {
  std::uint64_t parts = 0;
  for (const Phase& phase : question.phases) {
    parts += phase.program == program ? phase.parts : 0;
  }
  return parts * question.cycles;
}

/// The frees that follow `begin` before anything is asked for, at most so many.
struct FreesBehind {
  FreesBehind(const ChunkedVector<Event>& events, std::size_t begin, std::size_t most)
      : end(begin) {
    for (std::size_t i = begin; i < events.size() && count < most; ++i) {
      if (events[i].kind == EventKind::alloc) {
        break;
      }
      if (events[i].kind == EventKind::free) {
        ++count;
        end = i + 1;
      }
    }
  }

  std::size_t end;
  std::size_t count = 0;
};

/// Steps are the parts, each with what is freed before the next request: a loop's variables go when
/// their function returns. What comes before the first step belongs to it; what follows the last
/// beyond what follows the others, as a process frees all it has when it ends, is left out.
std::vector<std::size_t> ends_of(const Steps& steps, const ChunkedVector<Event>& events) {
  if (steps.steps.empty()) {
    return {events.size()};
  }
  std::vector<std::size_t> ends;
  std::size_t frees = 0;
  for (const StepSpan& step : steps.steps) {
    const bool is_last = &step == &steps.steps.back();
    const FreesBehind behind(events, step.end, is_last ? frees : events.size());
    ends.push_back(behind.end);
    frees = behind.count;
  }
  return ends;
}

void drop_step_markers(EditedRun& run) {
  rewrite(run, [](const Event& event, ChunkedVector<Event>& written) {
    if (event.kind != EventKind::step) {
      written.push_back(event);
    }
  });
}

/// A program that takes no optimizer step, as one that generates, marks one step at most: its own
/// repetition shows the others.
Steps parts_in(EditedRun& run) {
  Steps steps = steps_of_run(run);
  if (steps.steps.size() < 2) {
    drop_step_markers(run);
    steps = steps_of_run(run);
  }
  return steps;
}

PhasedProgram program_of(const std::string& name, const PlannedRun& run, std::uint64_t parts) {
  PlannedRun longer = run;
  longer.plan.steps = static_cast<int>(std::max<std::uint64_t>(parts, 1));
  const Workload workload = workload_for_replays(longer, {});
  const EditedRun whole{copy_of(*workload.trace), 0};
  return {name, workload.trace, ends_of(steps_of_run(whole), workload.trace->events), {}};
}

/// A recording with fewer steps than there are turns repeats its last whole one.
PhasedProgram program_of(const std::string& name, const std::string& file, std::uint64_t parts,
                         std::vector<std::string>& notes) {
  WorkloadRequest request;
  request.file = file;
  const std::vector<Workload> workloads = read_workloads(request);
  require_workloads(workloads, file);
  if (workloads.size() != 1) {
    throw UsageError(fmt::format("program '{}': '{}' contains {} devices; a program has one", name,
                                 file, workloads.size()));
  }
  EditedRun run{copy_of(*workloads.front().trace), workloads.front().older_events};
  Steps steps = parts_in(run);
  if (steps.steps.size() > 1 && steps.steps.size() < parts) {
    const StepSpan& last = steps.steps[steps.steps.size() - 2];
    apply_edit(RepeatStep{last.number, parts - steps.steps.size() + 1}, run);
    notes.push_back(
        fmt::format("'{}' has {} steps in {}, and its step {} happens again for the "
                    "others",
                    name, steps.steps.size(), file, last.number));
    steps = steps_of_run(run);
  } else if (steps.steps.size() < parts) {
    notes.push_back(fmt::format(
        "'{}' has no steps that show in {}: it runs as a whole in its first turn, and asks for "
        "nothing in the others",
        name, file));
  }
  std::vector<std::size_t> ends = ends_of(steps, run.trace.events);
  return {name, std::make_shared<const RequestTrace>(std::move(run.trace)), std::move(ends), {}};
}

PhasedProgram program_of(const std::string& name, const std::vector<NamedBlock>& blocks) {
  auto trace = std::make_shared<RequestTrace>();
  trace->stream_handles = {0};
  std::vector<std::string> names;
  for (const NamedBlock& block : blocks) {
    Frame frame;
    frame.file = trace->tables.strings.intern(name);
    frame.function = trace->tables.strings.intern(block.name);
    const FrameId site = trace->tables.stacks.intern_frame(frame);
    trace->events.push_back({.value = block.size.count(),
                             .allocation = AllocationId{trace->allocation_count++},
                             .stream = StreamId{0U},
                             .stack = trace->tables.stacks.intern_stack(std::vector{site}),
                             .kind = EventKind::alloc});
    names.push_back(block.name);
  }
  const std::size_t events = trace->events.size();
  return {name, std::move(trace), {events}, std::move(names)};
}

/// Reads plans and files once, so that sizes of blocks can be tried.
class Programs {
 public:
  Programs(const PhasesQuestion& question, std::vector<std::string>& notes) {
    for (std::size_t i = 0; i < question.programs.size(); ++i) {
      const ProgramSource& program = question.programs[i];
      const std::uint64_t parts = parts_wanted(question, i);
      if (const auto* plan = std::get_if<std::shared_ptr<const PlannedRun>>(&program.source)) {
        programs_.push_back(program_of(program.name, **plan, parts));
      } else if (const auto* file = std::get_if<std::string>(&program.source)) {
        programs_.push_back(program_of(program.name, *file, parts, notes));
      } else {
        programs_.push_back(
            program_of(program.name, std::get<std::vector<NamedBlock>>(program.source)));
      }
    }
  }

  void resize(const PhasesQuestion& question, const WantedBlock& wanted, Bytes size) {
    const ProgramSource& program = question.programs[wanted.program];
    auto blocks = std::get<std::vector<NamedBlock>>(program.source);
    blocks[wanted.block].size = size;
    programs_[wanted.program] = program_of(program.name, blocks);
  }

  [[nodiscard]] const std::vector<PhasedProgram>& list() const { return programs_; }

 private:
  std::vector<PhasedProgram> programs_;
};

ReplayOptions options_of(const PhasesQuestion& question) {
  DeviceReplay replay;
  model_release(question.torch, replay);
  if (question.memory.alloc_conf) {
    replay.settings = settings_from_command_line(*question.memory.alloc_conf, *replay.version);
  }
  replay.capacity = question.memory.capacity;
  replay.memory_limit = question.memory.memory_limit;
  replay.memory_fraction = question.memory.memory_fraction;
  return options_of(replay, AddressPolicy::never_reuse);
}

Usage higher(const Usage& a, const Usage& b) {
  return {std::max(a.requested, b.requested), std::max(a.allocated, b.allocated),
          std::max(a.active, b.active), std::max(a.reserved, b.reserved)};
}

/// Two stretches of the replay are a turn: what sleeps and wakes, and the program's own requests.
std::vector<PhaseRow> rows_of(const PhasedRun& run, const PhasedReplay& replayed) {
  std::vector<PhaseRow> rows;
  const std::vector<PhasePeak>& stretches = replayed.peaks.phases;
  for (std::size_t i = 0; i < run.turns.size() && 2 * i < stretches.size(); ++i) {
    const StretchPeak& waking = stretches[2 * i];
    const bool has_own = 2 * i + 1 < stretches.size();
    const StretchPeak& own = has_own ? stretches[2 * i + 1] : waking;
    rows.push_back({.turn = run.turns[i],
                    .waking = waking.peak,
                    .peak = higher(waking.peak, own.peak),
                    .end = own.end});
  }
  if (replayed.peaks.out_of_memory) {
    const bool was_waking = stretches.size() % 2 == 1;
    rows.back().ended = was_waking ? PhaseEnd::out_of_memory_waking : PhaseEnd::out_of_memory;
  }
  return rows;
}

ValueTrial trial_of(const PhasesQuestion& question, Programs& programs, std::int64_t mebibytes) {
  programs.resize(question, *question.wanted,
                  Bytes{static_cast<std::uint64_t>(mebibytes * kMebibyte)});
  const PhasedRun run = phased_run(programs.list(), question.phases, question.cycles);
  ReplayOptions options = options_of(question);
  options.after_oom = AfterOom::stop;
  const ReplayResult result = replay(run.trace, options);
  return {
      .value = mebibytes, .fits = result.counts.ooms == 0, .peak_reserved = result.peak.reserved};
}

/// In steps of a MiB, up to what the device has.
ValueSearch largest_block(const PhasesQuestion& question, Programs& programs) {
  const MemoryRequest& memory = question.memory;
  const std::optional<Bytes> most = memory.capacity ? memory.capacity : memory.memory_limit;
  if (!most) {
    throw UsageError(
        "the largest block follows from the memory that there is; add --gpu or "
        "--capacity");
  }
  return find_value([&](std::int64_t mebibytes) { return trial_of(question, programs, mebibytes); },
                    WantedValue::largest, static_cast<std::int64_t>(most->count()) / kMebibyte);
}

}  // namespace

const PhaseRow& PhasesAnswer::highest() const {
  return *std::ranges::max_element(rows, {}, [](const PhaseRow& row) { return row.peak.reserved; });
}

PhasesAnswer phases_answer(PhasesQuestion question) {
  PhasesAnswer answer;
  Programs programs(question, answer.notes);
  if (question.wanted) {
    answer.found = largest_block(question, programs);
    const std::int64_t size = answer.found->best.value_or(1);
    programs.resize(question, *question.wanted,
                    Bytes{static_cast<std::uint64_t>(size * kMebibyte)});
  }
  const PhasedRun run = phased_run(programs.list(), question.phases, question.cycles);
  PhasedReplay replayed = replay_with_phases(run.trace, options_of(question));
  answer.rows = rows_of(run, replayed);
  answer.result = std::move(replayed.result);
  answer.question = std::move(question);
  return answer;
}

}  // namespace highwater
