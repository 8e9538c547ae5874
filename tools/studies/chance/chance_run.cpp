#include "tools/studies/chance/chance_run.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "sim/settings/settings_candidates.hpp"
#include "tools/studies/chance/ensemble_run.hpp"
#include "tools/studies/chance/lagging_steps.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/parse_text.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

using Choice = std::vector<std::pair<std::string, std::string>>;

constexpr int kLongestSteps = 3;        ///< of the run at the greatest length
constexpr std::size_t kTriedDraws = 4;  ///< lengths on which pieces are tried
constexpr std::array kPaddings{"64", "128", "256", "512"};

constexpr std::array kStrategies{
    std::pair{std::string_view("random"), SamplingStrategy::random},
    std::pair{std::string_view("replacement"), SamplingStrategy::replacement},
    std::pair{std::string_view("sequential"), SamplingStrategy::sequential},
    std::pair{std::string_view("group_by_length"), SamplingStrategy::group_by_length},
};

constexpr std::string_view kPadding = "pad-to-multiple-of";
constexpr std::string_view kStrategy = "train-sampling-strategy";

/// One case, and the plan that it is about.
struct CasePlan {
  PlannedRun run;
  SamplingStrategy strategy = SamplingStrategy::random;
  std::int64_t multiple = 1;
};

class ChanceStudier {
 public:
  ChanceStudier(ChanceStudy& study, Fleet& fleet)
      : study_(study), question_(study.question), fleet_(fleet) {}

  void run() {
    study_.longest = with_progress("simulating the greatest length", [&] {
      const CasePlan plan = plan_of({});
      study_.longest_length = batch_range(question_, plan.multiple).longest;
      return workload_at(plan, study_.longest_length);
    });
    // A plan over several ranks is that of the rank with the most memory.
    question_.run.plan.parallel.rank = study_.longest.simulation->plan.parallel.rank;
    const std::vector<Choice> sets = cases();
    for (const Choice& set : sets) {
      const std::string what =
          fmt::format("runs of case {} of {}", study_.cases.size() + 1, sets.size());
      study_.cases.push_back(case_of(set, sets.size() == 1 ? "runs" : what));
    }
    fleet_.end_of_pieces();
  }

 private:
  [[nodiscard]] std::vector<Choice> cases() const {
    std::vector<Choice> sets{{}};
    if (question_.cases == ChanceCases::one_by_one) {
      add_candidates(sets);
    } else if (question_.cases == ChanceCases::product) {
      add_product(sets);
    }
    return sets;
  }

  void add_candidates(std::vector<Choice>& sets) const {
    for (const SweepAxis& axis : default_axes(study_.longest)) {
      for (const std::string& value : axis.values) {
        if (value != "default") {
          sets.push_back({{axis.key, value}});
        }
      }
    }
    for (const char* const padding : kPaddings) {
      if (question_.lengths && parse_number<std::int64_t>(padding) > question_.pad_to_multiple_of) {
        sets.push_back({{std::string(kPadding), padding}});
      }
    }
  }

  void add_product(std::vector<Choice>& sets) const {
    std::vector<SweepAxis> axes = question_.axes;
    expand_auto(study_.longest, axes);
    axes.insert(axes.end(), question_.batching.begin(), question_.batching.end());
    std::vector<Choice> product{{}};
    for (const SweepAxis& axis : axes) {
      std::vector<Choice> longer;
      for (const Choice& choice : product) {
        for (const std::string& value : axis.values) {
          longer.push_back(choice);
          longer.back().emplace_back(axis.key, value);
        }
      }
      product = std::move(longer);
    }
    sets.insert(sets.end(), product.begin(), product.end());
  }

  [[nodiscard]] const SweepAxis* axis_called(const std::string& key) const {
    const auto found = std::ranges::find(question_.axes, key, &SweepAxis::key);
    return found == question_.axes.end() ? nullptr : &*found;
  }

  [[nodiscard]] bool is_plan_key(const std::string& key) const {
    const SweepAxis* const axis = axis_called(key);
    return axis != nullptr && axis->kind == AxisKind::plan;
  }

  [[nodiscard]] CasePlan plan_of(const Choice& set) const {
    CasePlan plan{question_.run, question_.strategy, question_.pad_to_multiple_of};
    OptionWords words;
    for (const auto& [key, value] : set) {
      if (is_batching_key(key)) {
        set_batching(key, value, plan.strategy, plan.multiple);
      } else if (is_plan_key(key)) {
        words.emplace_back(key, value);
      }
    }
    if (!words.empty()) {
      const int rank = plan.run.plan.parallel.rank;
      plan.run = checked_run(with_words(question_.words, words), question_.run.plan.model);
      plan.run.plan.parallel.rank = rank;
    }
    return plan;
  }

  [[nodiscard]] Workload workload_at(const CasePlan& plan, std::int64_t length) const {
    PlannedRun run = plan.run;
    run.plan.seq = {length};
    run.plan.steps = kLongestSteps;
    return workload_of(run, question_.memory);
  }

  [[nodiscard]] EnsembleOptions ensemble_options(const CasePlan& plan,
                                                 const ReplayOptions& memory) const {
    EnsembleOptions options{.runs = question_.runs,
                            .steps = question_.steps,
                            .seed = question_.seed,
                            .draws = {},
                            .memory = memory};
    options.memory.observer = nullptr;
    Draws& draws = options.draws;
    draws.lengths = question_.lengths;
    draws.loads = question_.loads;
    draws.lags = question_.lags;
    draws.fixed_lag = plan.run.plan.parallel.event_lag;
    draws.fixed_lengths.assign(static_cast<std::size_t>(plan.run.plan.grad_accum),
                               plan.run.plan.seq.front());
    draws.batching = {.strategy = plan.strategy,
                      .batch = plan.run.plan.batch,
                      .accumulation = plan.run.plan.grad_accum,
                      .pad_to_multiple_of = plan.multiple};
    draws.batching.samples = static_cast<std::int64_t>(question_.steps) *
                             draws.batching.accumulation * draws.batching.batch;
    return options;
  }

  /// The shortest and the longest batch, and what the first run draws.
  [[nodiscard]] std::vector<StepDraw> tried_draws(const EnsembleOptions& options,
                                                  const CasePlan& plan) const {
    const LengthRange range = batch_range(question_, plan.multiple);
    StepDraws draws(options, 0);
    std::vector<StepDraw> tried;
    for (std::size_t i = 0; i < kTriedDraws; ++i) {
      tried.push_back(draws.next());
      tried.back().lengths[i % tried.back().lengths.size()] = i == 0 ? range.longest
                                                              : i == 1
                                                                  ? range.shortest
                                                                  : tried.back().lengths.front();
    }
    return tried;
  }

  PieceSource& source_of(const CasePlan& plan, const Choice& set, const EnsembleOptions& options) {
    Choice of_plan = set;
    std::erase_if(of_plan, [&](const auto& entry) { return !is_plan_key(entry.first); });
    auto& source = sources_[of_plan];
    if (!source) {
      source = std::make_unique<LaggingSteps>(
          [plan = plan.run.plan, load = question_.load,
           tried = tried_draws(options, plan)](std::int64_t lag) mutable {
            std::ranges::for_each(tried, [lag](StepDraw& draw) { draw.lag = lag; });
            return std::make_unique<PlanSteps>(plan, load, tried);
          });
    }
    return *source;
  }

  [[nodiscard]] SweepPoint point_of(const Choice& set, const Workload& workload) const {
    SweepPoint point{workload.options, workload.replay};
    point.is_limit_shown = false;
    for (const auto& [key, value] : set) {
      const SweepAxis* const axis = axis_called(key);
      if (!is_batching_key(key) && !is_plan_key(key)) {
        apply(axis != nullptr ? *axis : SweepAxis{key, AxisKind::settings, {}}, value, point);
      }
    }
    return point;
  }

  ChanceCase case_of(const Choice& set, const std::string& what) {
    ChanceCase result{.set = set};
    try {
      fill(result, what);
    } catch (const UsageError& error) {
      if (set.empty()) {
        throw;
      }
      result.problem = error.what();
    }
    return result;
  }

  void fill(ChanceCase& result, const std::string& what) {
    const CasePlan plan = plan_of(result.set);
    const bool is_other_plan = std::ranges::any_of(
        result.set, [&](const auto& entry) { return is_plan_key(entry.first); });
    const Workload workload = is_other_plan
                                  ? workload_at(plan, batch_range(question_, plan.multiple).longest)
                                  : study_.longest;
    const SweepPoint point = point_of(result.set, workload);
    const EnsembleOptions options = ensemble_options(plan, point.options);
    PieceSource& source = source_of(plan, result.set, options);
    Ensemble ensemble = run_ensemble(source, options, fleet_, what);
    if (ensemble.runs.empty()) {
      return;  // another process prints the answer
    }
    result.summary = summarise(ensemble);
    result.settings = point.options.settings;
    result.available = available(point.options);
    if (study_.cases.empty()) {
      study_.requests = ensemble.requests;
      study_.carried_out = ensemble.carried_out;
      base_ = std::move(ensemble.runs);
      result.change = change_between(base_, base_);
    } else {
      result.change = change_between(base_, ensemble.runs);
    }
  }

  static std::optional<Bytes> available(const ReplayOptions& options) {
    if (options.capacity && options.memory_limit) {
      return std::min(*options.capacity, *options.memory_limit);
    }
    return options.capacity ? options.capacity : options.memory_limit;
  }

  ChanceStudy& study_;
  ChanceQuestion& question_;
  std::map<Choice, std::unique_ptr<LaggingSteps>> sources_;
  std::vector<DrawnRun> base_;
  Fleet& fleet_;
};

}  // namespace

LengthRange batch_range(const ChanceQuestion& question, std::int64_t multiple) {
  LengthRange range;
  if (!question.lengths) {
    range.shortest = range.longest = question.run.plan.seq.front();
    return range;
  }
  if (const auto& distribution = question.lengths->distribution) {
    range.shortest = std::llround(distribution->smallest());
    range.longest = std::llround(distribution->largest().value_or(1));
  } else {
    const auto [low, high] = std::ranges::minmax(question.lengths->list);
    range.shortest = low;
    range.longest = high;
  }
  return {padded_length(range.shortest, multiple), padded_length(range.longest, multiple)};
}

bool is_batching_key(const std::string& key) {
  return key == kPadding || key == kStrategy;
}

void set_batching(const std::string& key, const std::string& value, SamplingStrategy& strategy,
                  std::int64_t& multiple) {
  if (key == kPadding) {
    const auto number = parse_number<std::int64_t>(value);
    if (!number || *number < 1) {
      throw UsageError(
          fmt::format("--{} {}: not a multiple; use 8 or 64, for example", key, value));
    }
    multiple = *number;
    return;
  }
  const auto* const found =
      std::ranges::find(kStrategies, value, &std::pair<std::string_view, SamplingStrategy>::first);
  if (found == kStrategies.end()) {
    throw UsageError(fmt::format(
        "--{} {}: unknown; use random, replacement, sequential or group_by_length", key, value));
  }
  strategy = found->second;
}

std::size_t ChanceStudy::best() const {
  const auto worth = [this](std::size_t i) {
    const ChanceSummary& summary = cases[i].summary;
    const Bytes high = cases[i].problem ? Bytes{} : summary.reserved.quantiles[5].value;
    return std::tuple(cases[i].problem.has_value(), summary.failed.runs, high, i);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < cases.size(); ++i) {
    best = worth(i) < worth(best) ? i : best;
  }
  return best;
}

ChanceStudy study_chance(ChanceQuestion question, Fleet& fleet) {
  ChanceStudy study;
  study.question = std::move(question);
  ChanceStudier(study, fleet).run();
  return study;
}

}  // namespace highwater
