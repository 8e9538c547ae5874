#include "tools/studies/solving/frontier.hpp"

#include <algorithm>
#include <tuple>

#include "sim/replay/parallel.hpp"
#include "tools/studies/solving/checkpoint_policies.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/step_time.hpp"

namespace highwater {
namespace {

/// The plan's own batch, and three times twice as many: beyond, time per sequence hardly changes.
constexpr int kBatches = 4;

double seconds_per_sequence(const SolveState& state) {
  return 1 / step_time(plan_of(state)).sequences_per_second();
}

SolveState with_batch(const SolveState& state, std::int64_t batch) {
  return with_options(state, {{"batch", std::to_string(batch)}});
}

/// A row, or nothing where there is no such plan.
std::optional<FrontierRow> row_of(const SolveState& state, const CheckpointPolicy& policy,
                                  std::int64_t batch, double fastest) {
  const SolveState at = with_policy(with_batch(state, batch), policy.word);
  PlanOutcome outcome = try_plan(at);
  const bool fits = outcome.fits;
  if (!fits && outcome.refusal.empty()) {
    outcome = try_unlimited(at);
  }
  if (!outcome.refusal.empty()) {
    return std::nullopt;
  }
  return FrontierRow{.checkpoint = policy.word,
                     .batch = batch,
                     .recomputation = policy.recomputation,
                     .time = seconds_per_sequence(at) / fastest - 1,
                     .peak = outcome.peak,
                     .fits = fits};
}

std::vector<FrontierRow> rows_of_batch(const SolveState& state, std::int64_t batch, double fastest,
                                       PlanTrials& trials) {
  const auto policies = checkpoint_policies(with_batch(state, batch));
  std::vector<std::optional<FrontierRow>> made(policies.size());
  for_each_index(policies.size(),
                 [&](std::size_t i) { made[i] = row_of(state, policies[i], batch, fastest); });
  std::vector<FrontierRow> rows;
  for (const auto& row : made) {
    trials.count();
    if (row) {
      rows.push_back(*row);
    }
  }
  return rows;
}

bool beats(const FrontierRow& a, const FrontierRow& b) {
  return a.fits && a.peak <= b.peak && a.time <= b.time && (a.peak < b.peak || a.time < b.time);
}

}  // namespace

void mark_efficient(std::vector<FrontierRow>& rows) {
  for (FrontierRow& row : rows) {
    row.is_efficient = row.fits && std::ranges::none_of(rows, [&](const FrontierRow& other) {
                         return beats(other, row);
                       });
  }
}

Frontier find_frontier(const SolveState& state, FrontierAxes axes, PlanTrials& trials) {
  const PlannedRun run = checked_run(state.words, state.model);
  Frontier frontier{.axes = axes, .batch = run.plan.batch, .available = room_of(state, run).most()};
  const double fastest = seconds_per_sequence(with_policy(state, "none"));
  const int batches = axes == FrontierAxes::checkpoint ? 1 : kBatches;
  std::int64_t batch = frontier.batch;
  for (int i = 0; i < batches; ++i, batch *= 2) {
    const auto rows = rows_of_batch(state, batch, fastest, trials);
    frontier.rows.insert(frontier.rows.end(), rows.begin(), rows.end());
    if (std::ranges::none_of(rows, &FrontierRow::fits)) {
      break;
    }
  }
  std::ranges::stable_sort(frontier.rows, {},
                           [](const FrontierRow& row) { return std::tuple(row.time, row.peak); });
  mark_efficient(frontier.rows);
  return frontier;
}

}  // namespace highwater
