#include "tools/studies/runs/rank_peaks.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tools/fleet/piece_codec.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

std::vector<RankClass> chosen(const std::vector<RankClass>& classes, RankChoice choice) {
  switch (choice.kind) {
    case RankChoice::Kind::all:
      return classes;
    case RankChoice::Kind::representative:
      return representative_ranks(classes);
    case RankChoice::Kind::one:
      break;
  }
  return {};
}

bool has_limit(const PlannedRun& run, const MemoryRequest& memory) {
  return run.gpu_named || memory.capacity || memory.memory_limit;
}

RankPeak peak_of(PlannedRun run, const MemoryRequest& memory, const RankClass& ranks) {
  run.plan.parallel.rank = ranks.rank;
  const PlanPeaks peaks = simulate_peaks(run, memory);
  return {ranks,          peaks.peak, peaks.at_peak, peaks.fits, peaks.reserved_without_limit,
          peaks.available};
}

/// Ranks that ran out of memory have reserved about as much as there is: what they need tells them
/// apart.
bool is_worse(const RankPeak& a, const RankPeak& b) {
  return a.fits != b.fits ? !a.fits : a.reserved_without_limit > b.reserved_without_limit;
}

/// One rank by itself: a class of its own.
RankClass single(const Parallelism& parallel, int rank) {
  Parallelism at = parallel;
  at.rank = rank;
  return {.rank = rank, .ranks = 1, .place = rank_place(at), .what = ""};
}

double count_of(Bytes bytes) {
  return static_cast<double>(bytes.count());
}

}  // namespace

double RankPeaks::mean_reserved() const {
  double sum = 0;
  double count = 0;
  for (const RankPeak& each : peaks) {
    sum += count_of(each.reserved_without_limit) * static_cast<double>(each.ranks.ranks);
    count += static_cast<double>(each.ranks.ranks);
  }
  return sum / count;
}

std::string RankPeaks::why() const {
  if (peaks.size() < 2) {
    return "";
  }
  Category most = Category::parameter;
  double excess = 0;
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    double sum = 0;
    double count = 0;
    for (const RankPeak& each : peaks) {
      sum += count_of(each.at_peak.of(category)) * static_cast<double>(each.ranks.ranks);
      count += static_cast<double>(each.ranks.ranks);
    }
    const double more = count_of(peaks[worst].at_peak.of(category)) - sum / count;
    if (more > excess) {
      excess = more;
      most = category;
    }
  }
  if (excess < 1) {
    return "";
  }
  std::string name(to_string(most));
  std::ranges::replace(name, '_', ' ');
  return fmt::format("{} more {} memory", to_iec(Bytes{static_cast<std::uint64_t>(excess)}), name);
}

namespace {

/// What the job's ranks are: exactly where all of them are asked for.
std::vector<RankClass> classes_of(const TrainingPlan& plan, RankChoice choice) {
  return choice.kind == RankChoice::Kind::all ? rank_classes(plan) : coarse_rank_classes(plan);
}

std::vector<RankClass> classes_to_run(const PlannedRun& run, const std::vector<RankClass>& classes,
                                      RankChoice choice) {
  return choice.kind == RankChoice::Kind::one ? std::vector{single(run.plan.parallel, choice.rank)}
                                              : chosen(classes, choice);
}

RankPeaks survey_of(const PlannedRun& run, const MemoryRequest& memory, std::size_t classes) {
  RankPeaks survey;
  survey.classes = classes;
  survey.ranks = run.plan.parallel.gpus();
  survey.is_limited = has_limit(run, memory);
  survey.dp_kind = run.plan.parallel.dp_kind;
  return survey;
}

void find_worst(RankPeaks& survey) {
  const auto worst = std::ranges::min_element(survey.peaks, is_worse);
  survey.worst = static_cast<std::size_t>(worst - survey.peaks.begin());
}

}  // namespace

RankPeaks simulate_ranks(const PlannedRun& run, const MemoryRequest& memory, RankChoice choice,
                         Fleet& fleet) {
  const std::vector<RankClass> classes = classes_of(run.plan, choice);
  const std::vector<RankClass> ranks = classes_to_run(run, classes, choice);
  RankPeaks survey = survey_of(run, memory, classes.size());
  fleet.stream(
      "classes of ranks", ranks.size(),
      [&](PieceNumber i) { return peak_of(run, memory, ranks[i]); },
      [&](PieceNumber i, RankPeak&& peak) {
        peak.ranks = ranks[i];  // whoever's the result is
        survey.peaks.push_back(std::move(peak));
      });
  find_worst(survey);
  return survey;
}

RankPeaks simulate_ranks(const PlannedRun& run, const MemoryRequest& memory, RankChoice choice) {
  Fleet threads;
  return simulate_ranks(run, memory, choice, threads);
}

namespace {

/// Every trial depends on those before it, so all processes take part in all of it.
class BatchTrials {
 public:
  BatchTrials(PlannedRun run, const MemoryRequest& memory, RankChoice choice, Fleet& fleet)
      : run_(std::move(run)), memory_(&memory), choice_(choice), fleet_(&fleet) {}

  /// With so many of the smallest batches that the plan's ranks can share.
  ValueTrial of_units(std::int64_t units) {
    const std::int64_t unit = grid_batch_parts(run_.plan.parallel);
    ValueTrial trial = of_batch(units * unit);
    trial.value = units;
    return trial;
  }

 private:
  ValueTrial of_batch(std::int64_t batch) {
    run_.plan.batch = batch;
    if (batch > 1 && !plan_problems(run_.plan).empty()) {
      return {batch, false, Bytes{}};  // larger than a plan may be
    }
    const std::vector<RankClass> classes = classes_of(run_.plan, choice_);
    RankPeaks survey = survey_of(run_, *memory_, classes.size());
    survey.peaks = peaks_of(classes_to_run(run_, classes, choice_));
    find_worst(survey);
    const RankPeak& worst = survey.peaks[survey.worst];
    return {batch, worst.fits, worst.peak.reserved};
  }

  std::vector<RankPeak> peaks_of(const std::vector<RankClass>& ranks) {
    std::vector<PieceNumber> all(ranks.size());
    std::iota(all.begin(), all.end(), PieceNumber{0});
    return fleet_->need("classes of ranks", fleet_->new_job(), std::move(all),
                        [&](PieceNumber i) { return peak_of(run_, *memory_, ranks[i]); });
  }

  PlannedRun run_;
  const MemoryRequest* memory_;
  RankChoice choice_;
  Fleet* fleet_;
};

ValueSearch in_sequences(ValueSearch search, const Parallelism& parallel) {
  const std::int64_t unit = grid_batch_parts(parallel);
  if (search.best) {
    *search.best *= unit;
  }
  if (search.next) {
    *search.next *= unit;
  }
  search.limit *= unit;
  for (ValueTrial& trial : search.trials) {
    trial.value *= unit;
  }
  return search;
}

}  // namespace

ValueSearch find_largest_batch(PlannedRun run, const MemoryRequest& memory, RankChoice choice,
                               Fleet& fleet) {
  BatchTrials trials(run, memory, choice, fleet);
  return in_sequences(find_value([&](std::int64_t units) { return trials.of_units(units); }),
                      run.plan.parallel);
}

}  // namespace highwater
