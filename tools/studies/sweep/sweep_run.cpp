#include "tools/studies/sweep/sweep_run.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <boost/json.hpp>

#include "tools/studies/sweep/sweep_codecs.hpp"
#include "tools/studies/sweep/sweep_points.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// All runs are held: of each a few KiB.
constexpr std::uint64_t kMostHeld = 100'000;

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

/// Results may come from a file that somebody has made up: reports find their rows by the choice.
void require_of_grid(const std::vector<SweepRun>& runs, const SweepGrid& grid) {
  for (const SweepRun& run : runs) {
    if (run.point >= grid.points() || run.set != grid.choice(run.point)) {
      PieceReader::fail();
    }
  }
}

/// Lines of a part go to the output as they are: nothing but JSON may, which holds no control
/// characters.
void require_lines_of_json(std::string_view lines) {
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    boost::json::error_code broken;
    const boost::json::value line = boost::json::parse(lines.substr(begin, end - begin), broken);
    if (broken || !line.is_object()) {
      PieceReader::fail();
    }
    begin = end + 1;
  }
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

namespace {

constexpr std::size_t kMostShownWithBar = 256;

/// Runs that are likely to be among the best, until as many fit as are shown; every process gets
/// them.
SweepBar first_runs(const SweepPoints& points, const SweepGrid& grid, const SweepQuestion& question,
                    Fleet& fleet) {
  constexpr std::size_t kRounds = 3;
  const std::uint32_t job = fleet.new_job();
  const std::vector<std::uint64_t> promising = points.promising(kRounds * question.top);
  std::vector<SweepRun> runs;
  for (std::size_t begin = 0; begin < promising.size();) {
    const auto missing =
        question.top - static_cast<std::size_t>(std::ranges::count_if(runs, &SweepRun::fits));
    const std::size_t end = std::min(promising.size(), begin + missing);
    const std::vector<PieceNumber> next(promising.begin() + static_cast<std::ptrdiff_t>(begin),
                                        promising.begin() + static_cast<std::ptrdiff_t>(end));
    fleet.require_results(job, next);
    std::ranges::move(fleet.need("first runs of the sweep", job, next,
                                 [&](PieceNumber point) { return points.run_of(point); }),
                      std::back_inserter(runs));
    require_of_grid(runs, grid);
    begin = missing == 0 ? promising.size() : end;
  }
  return {std::move(runs), question.top};
}

bool pays(const SweepGrid& grid, const SweepQuestion& question) {
  return question.bounds == SweepBounds::used && question.answer == SweepAnswer::best_runs &&
         question.top <= kMostShownWithBar && grid.points() > 2 * question.top;
}

}  // namespace

Sweep run_sweep(Workload workload, const SweepQuestion& question, const SweptPlans& plans,
                Fleet& fleet) {
  const SweepGrid grid(question.axes);
  check_size(grid, question.answer);
  Sweep sweep;
  sweep.workload = std::move(workload);
  check_itself(sweep.workload);
  for (const SweepAxis& axis : grid.axes()) {
    sweep.keys.push_back(axis.key);
  }
  sweep.base = base_run(sweep.workload);
  const PlanMaker make = [&](const SweepChoice& choice) {
    return edited(choice, sweep.workload, plans.make);
  };
  const SweepPoints points(sweep, grid, make, plans.outline);
  points.check_values();
  Sweep header;  // what a line needs, while runs are added to the other
  header.keys = sweep.keys;
  header.base = sweep.base;
  const SweepBar bar =
      pays(grid, question) ? first_runs(points, grid, question, fleet) : SweepBar();
  take(piece_of(bar.runs(), header, question), question, sweep);
  const bool is_merge = merged_parts() != nullptr;  // which only this thread knows
  bool is_answered = false;                         // by this process
  fleet.stream(
      "pieces of the sweep", grid.pieces(),
      [&](PieceNumber number) {
        PieceRuns runs = points.runs_of(number, bar);
        SweepPiece piece = piece_of(std::move(runs.runs), header, question);
        piece.counts.add(runs.ruled_out);
        return piece;
      },
      [&](PieceNumber /*number*/, SweepPiece&& piece) {
        require_of_grid(piece.runs, grid);
        require_of_grid(piece.preferred, grid);
        if (is_merge) {
          require_lines_of_json(piece.lines);
        }
        is_answered = true;
        take(std::move(piece), question, sweep);
      });
  if (is_answered && question.answer != SweepAnswer::lines && sweep.preferred.empty()) {
    PieceReader::fail();
  }
  return sweep;
}

}  // namespace highwater
