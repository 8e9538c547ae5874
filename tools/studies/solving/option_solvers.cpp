// Fields that are options with a whole number, and the multiples that their plans allow.
#include <numeric>

#include "tools/studies/solving/field_solvers.hpp"
#include "tools/studies/solving/number_solver.hpp"
#include "workloads/plan/model/model_width.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kTokens = 64;

/// Each context-parallel rank has two parts of every sequence
/// (workloads/plan/context_parallel.hpp), and with --sp every tensor-parallel rank one.
std::int64_t parts_of_sequence(const Parallelism& p) {
  const std::int64_t of_context = p.cp > 1 ? 2 * std::int64_t{p.cp} : 1;
  return std::lcm(of_context, p.sequence_parallel ? std::int64_t{p.tp} * p.cp : 1);
}

}  // namespace

FieldSolution solve_batch(const SolveField& field, const FieldQuestion& question) {
  const std::int64_t unit = grid_batch_parts(plan_of(question.state).parallel);
  return solve_option(field, question, std::lcm(unit, question.step.value_or(1)));
}

FieldSolution solve_seq(const SolveField& field, const FieldQuestion& question) {
  const std::int64_t parts = parts_of_sequence(plan_of(question.state).parallel);
  return solve_option(field, question, std::lcm(parts, question.step.value_or(kTokens)));
}

FieldSolution solve_hidden(const SolveField& field, const FieldQuestion& question) {
  const TrainingPlan plan = plan_of(question.state);
  const std::int64_t part = width_step(plan.model, plan.parallel.tp).value_or(1);
  return solve_option(field, question, std::lcm(part, question.step.value_or(1)));
}

FieldSolution solve_lora(const SolveField& field, const FieldQuestion& question) {
  return solve_option(field, question, question.step.value_or(1));
}

}  // namespace highwater
