#include "tools/studies/solving/solve_state.hpp"

#include <algorithm>

#include "tools/studies/plan_search/memory_trial.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr Bytes kNoLimit{UINT64_MAX};

/// A share of the device's memory, not of what is left of it: torch/cuda/memory.py,
/// set_per_process_memory_fraction.
std::optional<Bytes> limit_of(const MemoryRequest& memory, const PlannedRun& run) {
  if (!memory.memory_fraction) {
    return memory.memory_limit;
  }
  const Bytes device = memory.capacity.value_or(run.plan.gpu.total_memory);
  return Bytes{
      static_cast<std::uint64_t>(*memory.memory_fraction * static_cast<double>(device.count()))};
}

PlanOutcome simulated_outcome(const SolveState& state) {
  const PlannedRun run = checked_run(state.words, state.model);
  const AllocatorRoom room = room_of(state, run);
  const MemoryRequest memory{state.memory.alloc_conf, room.capacity, room.memory_limit, {}};
  const auto most = room.most();
  const Bytes limit = most ? without_margin(*most, state.margin) : kNoLimit;
  const MemoryTrial trial = try_whole(run.plan, memory, limit);
  return {trial.fits, trial.peak};
}

}  // namespace

SolveState with_options(SolveState state, const OptionWords& changed) {
  state.words = with_words(std::move(state.words), changed);
  return state;
}

TrainingPlan plan_of(const SolveState& state) {
  std::vector<std::string> ignored;
  return read_plan_words(state.words, ignored, &state.model);
}

std::optional<Bytes> AllocatorRoom::most() const {
  return capacity && memory_limit ? std::min(*capacity, *memory_limit)
                                  : (capacity ? capacity : memory_limit);
}

AllocatorRoom room_of(const SolveState& state, const PlannedRun& run) {
  if (state.bound == MemoryBound::none) {
    return {};
  }
  AllocatorRoom room{state.memory.capacity, limit_of(state.memory, run)};
  if (!room.capacity && run.gpu_named) {
    room.capacity = memory_for_allocator(run.plan.gpu, run.plan);
  }
  return room;
}

PlanOutcome try_plan(const SolveState& state) {
  try {
    return simulated_outcome(state);
  } catch (const UsageErrors& error) {
    return {.fits = false, .peak = Bytes{}, .refusal = error.problems().front()};
  } catch (const InputError& error) {  // PyTorch itself would refuse it
    return {.fits = false, .peak = Bytes{}, .refusal = error.what()};
  }
}

PlanOutcome try_unlimited(SolveState state) {
  state.bound = MemoryBound::none;
  return try_plan(state);
}

PlanOutcome PlanTrials::of(const SolveState& state) {
  count();
  return try_plan(state);
}

PlanOutcome PlanTrials::unlimited(SolveState state) {
  count();
  return try_unlimited(std::move(state));
}

}  // namespace highwater
