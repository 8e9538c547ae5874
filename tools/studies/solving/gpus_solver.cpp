// --for gpus: data-parallel ranks of the strategy that the plan names, or GPUs of any strategy.
#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "tools/studies/plan_search/strategy_search.hpp"
#include "tools/studies/solving/field_solvers.hpp"
#include "tools/studies/solving/number_solver.hpp"
#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kMostGroups = 8192;  ///< Llama 3's 405B ran on 16,384 GPUs, in groups of 8
constexpr std::int64_t kMostGpusOfAny = 1024;

OptionWords ranks_words(std::int64_t dp) {
  return {{"dp", std::to_string(dp)}};
}

/// Experts are spread over parts of the data-parallel ranks, and HSDP's replicas are some of them.
std::int64_t ranks_step(const Parallelism& p) {
  return std::lcm<std::int64_t>(p.ep / std::gcd(p.ep, p.cp), p.fsdp.replicas);
}

FieldSolution solve_ranks(const SolveField& field, const FieldQuestion& question) {
  Parallelism p = plan_of(question.state).parallel;
  const std::int64_t step = ranks_step(p);
  p.dp = 1;
  const std::int64_t gpus_of_rank = p.gpus();
  const auto changed = [&](std::int64_t position) {
    return with_options(question.state, ranks_words(position * step));
  };
  NumberAnswer answer = solve_number(
      field, {.step = step * gpus_of_rank,
              .value = [=](std::int64_t position) { return position * step * gpus_of_rank; },
              .outcome = [&](std::int64_t at) { return question.trials->of(changed(at)); },
              .wanted = WantedValue::least,
              .limit = kMostGroups});
  return {std::move(answer.solved), answer.position ? changed(*answer.position) : question.state};
}

/// The fastest row of `plan` for each number of GPUs that was tried.
class StrategyTrials {
 public:
  explicit StrategyTrials(const FieldQuestion& question) : question_(&question) {
    request_.run = read_run_of(question.state);
    request_.memory.alloc_conf = question.state.memory.alloc_conf;
    request_.device = question.state.memory.capacity.value_or(request_.run.plan.gpu.total_memory);
    request_.options.margin = question.state.margin;
    request_.options.rows = 1;
    request_.options.most_given_up = 0;  // the same training, as everywhere
  }

  PlanOutcome of(std::int64_t gpus) {
    question_->trials->count();
    request_.gpus = static_cast<int>(gpus);
    const StrategySearch search = search_strategies(request_);
    if (search.results.empty()) {
      return {.fits = false, .peak = Bytes{}, .refusal = "no strategy divides the plan so"};
    }
    const StrategyResult& first = search.results.front();
    if (first.fits) {
      found_.insert_or_assign(gpus, first);
    }
    return {.fits = first.fits, .peak = first.peak};
  }

  /// The plan of the row, for `gpus` that fit.
  [[nodiscard]] SolveState state_of(std::int64_t gpus) const {
    const StrategyResult& row = found_.at(gpus);
    SolveState state = question_->state;
    OptionWords words = plan_words(row.plan);
    std::erase_if(words, [&](const OptionWord& word) {
      return word.first == "gpu" || word.first == "model";
    });
    state.words = with_words(std::move(state.words), words);
    if (state.memory.capacity) {
      state.memory.capacity = row.capacity;
    }
    return state;
  }

 private:
  static PlannedRun read_run_of(const SolveState& state) {
    return {plan_of(state), find_word(state.words, "gpu") != nullptr};
  }

  const FieldQuestion* question_;
  SearchRequest request_;
  std::map<std::int64_t, StrategyResult> found_;
};

FieldSolution solve_strategies(const SolveField& field, const FieldQuestion& question) {
  StrategyTrials trials(question);
  NumberAnswer answer =
      solve_number(field, {.step = std::int64_t{1},
                           .value = [](std::int64_t gpus) { return gpus; },
                           .outcome = [&](std::int64_t gpus) { return trials.of(gpus); },
                           .wanted = WantedValue::least,
                           .limit = kMostGpusOfAny});
  return {std::move(answer.solved),
          answer.position ? trials.state_of(*answer.position) : question.state};
}

}  // namespace

FieldSolution solve_gpus(const SolveField& field, const FieldQuestion& question) {
  return names_strategy(question.state.words) ? solve_ranks(field, question)
                                              : solve_strategies(field, question);
}

}  // namespace highwater
