// The results of `plan`: the strategy and the largest batch that fit, by simulation of every
// strategy that the generator knows, and by LLMem's Algorithm 1 over closed forms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/studies/plan_search/strategy_search.hpp"
#include "tools/studies/plan_search/whole_states.hpp"
#include "workloads/estimates/llmem/llmem_selection.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"

namespace highwater {

struct PlanRequest {
  PlannedRun run;
  std::string model;     ///< as given: a name or a file
  MemoryRequest memory;  ///< for the simulation; its capacity is not used
  Bytes device;  ///< all of one GPU's memory, including the process's share outside the allocator
  int gpus = 1;
  int tp = 1;  ///< tensor-parallel ranks of a group where both axes are used; 1: not used
  Bytes base = kLlmemBase;
  bool simulates = true;  ///< false: only closed forms
  SearchOptions search;
};

/// Algorithm 1 over one way to add up LLMem's terms.
struct PlanSelection {
  std::string accounting;  ///< "as printed", "corrected", "published code"
  LlmemCluster cluster;
  LlmemSelection selection;
};

struct PlanResult {
  std::string refusal;  ///< why LLMem does not apply; empty if it does
  std::vector<std::string> broken;
  LlmemCluster cluster;
  std::vector<PlanSelection> selections;
  std::optional<StrategySearch> simulated;
  std::optional<WholeStates> whole_states;  ///< where a smaller batch does not help
};

/// A simulation is a piece. @throws UsageError for wrong allocator settings, PiecesOnly where
/// another process prints the answer
PlanResult search_plan(const PlanRequest& request, Fleet& fleet);

/// The three accountings of LLMem for the plan's model and longest sequence.
std::vector<PlanSelection> llmem_selections(const EstimateInputs& inputs,
                                            const LlmemCluster& cluster);

/// Ranks of a tensor-parallel group that the paper would use: 2, where there are at least two
/// groups of it.
int usual_tensor_parallel_group(int gpus);

}  // namespace highwater
