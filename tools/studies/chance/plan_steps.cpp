#include "tools/studies/chance/plan_steps.hpp"

#include <algorithm>

#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

namespace highwater {
namespace {

constexpr std::size_t kWatchedSteps = 6;  ///< in which steps must have become alike
constexpr std::size_t kAlikeSteps = 3;    ///< so many at the end of these

bool begins_batch(const RequestTrace& trace, const Event& event) {
  return event.kind == EventKind::phase && trace.tables.strings[event.text()] == "data";
}

/// The events at which the pieces of all steps begin; none if a step does not load `micro_batches`
/// batches one after the other.
std::optional<std::vector<std::size_t>> begins_of(const RequestTrace& trace,
                                                  std::size_t micro_batches) {
  std::vector<std::size_t> begins;
  std::size_t steps = 0;
  std::size_t batches = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::step) {
      begins.push_back(i);
      batches = 0;
      ++steps;
    } else if (micro_batches > 1 && steps > 0 && begins_batch(trace, event) && ++batches > 1) {
      begins.push_back(i);
    }
  }
  return begins.size() == steps * micro_batches ? std::optional(begins) : std::nullopt;
}

}  // namespace

PlanSteps::PlanSteps(TrainingPlan plan, LoadKind load, const std::vector<StepDraw>& tried)
    : plan_(std::move(plan)), load_(load) {
  for (const StepDraw& draw : tried) {
    longest_ = std::max(longest_, std::ranges::max(draw.lengths));
  }
  const auto all = static_cast<std::size_t>(plan_.grad_accum);
  for (const std::size_t micro_batches : {all, std::size_t{1}}) {
    for (const LastStep last : {LastStep::kept, LastStep::longest}) {
      micro_batches_ = micro_batches;
      last_step_ = last;
      store_.emplace();
      if (prepare(tried)) {
        return;
      }
    }
  }
  throw InputError(
      "plan", "steps",
      "what a step of this plan requests depends on the lengths of the steps before it",
      "give the lengths with --seq, one for each micro-batch");
}

TrainingPlan PlanSteps::plan_of(const std::vector<StepDraw>& steps) const {
  TrainingPlan plan = plan_;
  plan.steps = static_cast<int>(steps.size());
  plan.seq.clear();
  for (const StepDraw& step : steps) {
    plan.seq.insert(plan.seq.end(), step.lengths.begin(), step.lengths.end());
  }
  if (last_step_ == LastStep::longest) {
    ++plan.steps;
    plan.seq.insert(plan.seq.end(), static_cast<std::size_t>(plan.grad_accum), longest_);
  }
  if (steps.front().load > 0) {
    const double load = static_cast<double>(steps.front().load) / 100;
    plan.moe_load = {};
    (load_ == LoadKind::busiest ? plan.moe_load.busiest : plan.moe_load.zipf) = load;
  }
  plan.parallel.event_lag = static_cast<int>(steps.front().lag);
  return plan;
}

/// Nothing if the run cannot be cut.
std::optional<PlanSteps::Made> PlanSteps::made_of(const std::vector<StepDraw>& steps) const {
  const RequestTrace trace = generate_step_by_step(plan_of(steps));
  const auto begins = begins_of(trace, micro_batches_);
  if (!begins) {
    return std::nullopt;
  }
  Made made{.before = nullptr, .pieces = cut(trace, *begins)};
  made.before = std::make_shared<const Piece>(std::move(made.pieces.front()));
  made.pieces.erase(made.pieces.begin());
  made.pieces.resize(steps.size() * micro_batches_);
  return made;
}

/// What the piece number `unit` of a step depends on.
StepDraw PlanSteps::part_of(const StepDraw& draw, std::size_t unit) const {
  StepDraw part = draw;
  if (cuts_micro_batches()) {
    part.lengths = {draw.lengths[unit]};
  }
  return part;
}

/// A step all of whose micro-batches are as the one that `part` is of.
StepDraw PlanSteps::whole_of(StepDraw part) const {
  part.lengths.resize(static_cast<std::size_t>(plan_.grad_accum), part.lengths.front());
  return part;
}

void PlanSteps::add_pieces(std::size_t step, const StepDraw& draw, std::vector<PiecePtr>& pieces) {
  const std::size_t first = std::min(step, first_steps_) * micro_batches_;
  for (std::size_t unit = 0; unit < micro_batches_; ++unit) {
    pieces.push_back(piece({part_of(draw, unit), static_cast<std::uint32_t>(first + unit)}));
  }
}

PiecePtr PlanSteps::piece(const PieceKey& key) {
  if (PiecePtr known = store_->find(key)) {
    return known;
  }
  std::optional<Made> made = made_of(std::vector<StepDraw>(first_steps_ + 1, whole_of(key.draw)));
  if (!made) {
    throw InputError("plan", "steps", "steps of different length have different micro-batches",
                     "give the lengths with --seq, one for each micro-batch");
  }
  PiecePtr wanted;
  for (std::uint32_t number = 0; number < made->pieces.size(); ++number) {
    auto piece = std::make_shared<const Piece>(std::move(made->pieces[number]));
    wanted = number == key.number ? piece : wanted;
    store_->add({key.draw, number}, std::move(piece));
  }
  return wanted;
}

bool PlanSteps::prepare(const std::vector<StepDraw>& tried) {
  return find_first_steps(whole_of(part_of(tried.front(), 0))) && is_proved_by(tried);
}

/// The first steps make gradients' buckets, states and workspaces; those that follow are alike.
bool PlanSteps::find_first_steps(const StepDraw& draw) {
  const std::optional<Made> made = made_of(std::vector<StepDraw>(kWatchedSteps, draw));
  if (!made) {
    return false;
  }
  before_steps_ = made->before;
  const auto of_step = static_cast<std::ptrdiff_t>(micro_batches_);
  const auto is_like_last = [&](std::size_t step) {
    const auto begin = made->pieces.begin() + static_cast<std::ptrdiff_t>(step) * of_step;
    return std::equal(begin, begin + of_step, made->pieces.end() - of_step);
  };
  first_steps_ = kWatchedSteps - 1;
  while (first_steps_ > 0 && is_like_last(first_steps_ - 1)) {
    --first_steps_;
  }
  return first_steps_ + kAlikeSteps <= kWatchedSteps;
}

/// A run of the drawn lengths one behind the other, in this order and in the other one, is made of
/// the pieces of each alone. Loads and lags stay those of the first draw.
bool PlanSteps::is_proved_by(const std::vector<StepDraw>& tried) {
  std::vector<StepDraw> steps = tried;
  steps.insert(steps.end(), tried.rbegin(), tried.rend());
  for (StepDraw& draw : steps) {
    draw.load = tried.front().load;
    draw.lag = tried.front().lag;
  }
  const std::optional<Made> mixed = made_of(steps);
  if (!mixed || *mixed->before != *before_steps_) {
    return false;
  }
  std::vector<PiecePtr> pieces;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    add_pieces(step, steps[step], pieces);
  }
  return std::ranges::equal(pieces, mixed->pieces,
                            [](const PiecePtr& own, const Piece& piece) { return *own == piece; });
}

}  // namespace highwater
