#include "tools/studies/sweep/sweep_run.hpp"

#include <algorithm>
#include <tuple>

#include "tools/studies/sweep/sweep_codecs.hpp"
#include "tools/studies/sweep/sweep_points.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

/// All runs are held: of each a few KiB.
constexpr std::uint64_t kMostHeld = 100'000;

auto rank_of(const SweepRun& run) {
  return std::tuple(run.problem.has_value(), run.ran_out(), run.replay.result.peak.reserved,
                    run.device_calls(), run.replay.result.counts.alloc_retries, run.point);
}

/// What a piece comes to.
struct SweepPiece {
  SweepCounts counts;
  std::vector<SweepRun> runs;       ///< those that may be among what is kept
  std::vector<SweepRun> preferred;  ///< one at the most
  std::string lines;
};

void keep_best(std::vector<SweepRun>& runs, std::size_t most) {
  const std::size_t kept = std::min(runs.size(), most);
  std::ranges::partial_sort(runs, runs.begin() + static_cast<std::ptrdiff_t>(kept), is_better);
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(kept), runs.end());
}

void prefer(const SweepRun& run, std::vector<SweepRun>& preferred) {
  if (preferred.empty() || is_preferred(run, preferred.front())) {
    preferred = {run};
  }
}

SweepCounts count_of(const SweepRun& run) {
  return {.all = 1,
          .out_of_memory = !run.problem && run.ran_out() ? 1U : 0U,
          .impossible = run.problem ? 1U : 0U};
}

SweepPiece piece_of(std::vector<SweepRun> runs, const Sweep& sweep, const SweepQuestion& question) {
  SweepPiece piece;
  for (const SweepRun& run : runs) {
    piece.counts.add(count_of(run));
    if (question.answer == SweepAnswer::lines) {
      piece.lines += question.line(sweep, run);
    } else {
      prefer(run, piece.preferred);
    }
  }
  if (question.answer != SweepAnswer::lines) {
    piece.runs = std::move(runs);
  }
  if (question.answer == SweepAnswer::best_runs) {
    keep_best(piece.runs, question.top);
  }
  return piece;
}

void take(SweepPiece&& piece, const SweepQuestion& question, Sweep& sweep) {
  sweep.counts.add(piece.counts);
  if (question.answer == SweepAnswer::lines) {
    question.write(piece.lines);
    return;
  }
  std::ranges::move(piece.runs, std::back_inserter(sweep.runs));
  if (question.answer == SweepAnswer::best_runs) {
    keep_best(sweep.runs, question.top);
  }
  for (const SweepRun& run : piece.preferred) {
    prefer(run, sweep.preferred);
  }
}

/// The workload as it is.
SweepRun base_run(const Workload& workload) {
  SweepRun base;
  base.replay = workload.replay;
  base.replay.fidelity.reset();
  MomentObserver moments;
  ReplayOptions options = workload.options;
  const bool tells_place = knows_phases(workload);
  options.observer = tells_place ? &moments : nullptr;
  base.replay.result = replay(*workload.trace, options);
  if (tells_place) {
    tell_peak(workload, moments, base);
  }
  return base;
}

/// Of the plan with its options set anew, or of the workload as it is, with its edits.
Workload edited(const SweepChoice& choice, const Workload& own, const PlanMaker& make_plan) {
  SweepChoice plan;
  std::vector<EditWords> edits;
  for (const auto& [key, value] : choice) {
    if (key != kEditKey) {
      plan.emplace_back(key, value);
    } else if (value != kNoEdit) {
      edits.push_back(read_edit(value));
    }
  }
  Workload workload = plan.empty() ? own : make_plan(plan);
  if (!edits.empty()) {
    edit_workload(edits, workload);
  }
  return workload;
}

void check_size(const SweepGrid& grid, SweepAnswer answer) {
  if (answer == SweepAnswer::all_runs && grid.points() > kMostHeld) {
    throw UsageError(
        "--set: more than 100000 combinations, which json and csv hold at once; use --format jsonl "
        "or table, or omit some values");
  }
}

}  // namespace

std::optional<std::int64_t> SweepRun::batch() const {
  const auto found = std::ranges::find(set, "batch", &SweepChoice::value_type::first);
  return found == set.end() ? std::nullopt : parse_number<std::int64_t>(found->second);
}

bool is_better(const SweepRun& a, const SweepRun& b) {
  return rank_of(a) < rank_of(b);
}

bool is_preferred(const SweepRun& a, const SweepRun& b) {
  if (a.fits() && b.fits() && a.batch() != b.batch()) {
    return a.batch() > b.batch();
  }
  return is_better(a, b);
}

void SweepCounts::add(const SweepCounts& other) {
  all += other.all;
  out_of_memory += other.out_of_memory;
  impossible += other.impossible;
}

Sweep run_sweep(Workload workload, const SweepQuestion& question, const PlanMaker& make_plan,
                Fleet& fleet) {
  const SweepGrid grid(question.axes);
  check_size(grid, question.answer);
  Sweep sweep;
  sweep.workload = std::move(workload);
  for (const SweepAxis& axis : grid.axes()) {
    sweep.keys.push_back(axis.key);
  }
  sweep.base = base_run(sweep.workload);
  const PlanMaker make = [&](const SweepChoice& choice) {
    return edited(choice, sweep.workload, make_plan);
  };
  const SweepPoints points(sweep, grid, make);
  points.check_values();
  Sweep header;  // what a line needs, while runs are added to the other
  header.keys = sweep.keys;
  header.base = sweep.base;
  fleet.stream(
      "pieces of the sweep", grid.pieces(),
      [&](PieceNumber piece) { return piece_of(points.runs_of(piece), header, question); },
      [&](PieceNumber /*piece*/, SweepPiece&& piece) { take(std::move(piece), question, sweep); });
  return sweep;
}

}  // namespace highwater
