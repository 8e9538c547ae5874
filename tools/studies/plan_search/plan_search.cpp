#include "tools/studies/plan_search/plan_search.hpp"

#include <utility>

#include "workloads/estimates/llmem/llmem_plan.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// The plan for LLMem's formulas, independent of the strategy that it will choose.
EstimateInputs inputs_of(const PlanRequest& request) {
  EstimateInputs inputs = estimate_inputs(request.run.plan);
  inputs.base = request.base;
  return inputs;
}

}  // namespace

int usual_tensor_parallel_group(int gpus) {
  return gpus >= 4 && gpus % 2 == 0 ? 2 : 1;
}

std::vector<PlanSelection> llmem_selections(const EstimateInputs& inputs,
                                            const LlmemCluster& cluster) {
  const LlmemInventory inventory = llmem_inventory(inputs.plan.model, inputs.tensors);
  const auto sl = static_cast<double>(inputs.seq);
  const LlmemJob job{
      .m_base = static_cast<double>(inputs.base.count()), .n = cluster.n, .tp_n = cluster.tp_n};
  std::vector<PlanSelection> selections;
  const auto add = [&](const std::string& name, const LlmemAccounting& accounting,
                       const LlmemCluster& known) {
    selections.push_back({name, known, llmem_select(accounting, known)});
  };
  LlmemCluster without_cdp = cluster;
  without_cdp.has_cdp = false;  // the published code replicates nothing
  add("as printed", llmem_accounting(inventory, sl, job), cluster);
  if (cluster.has_groups()) {
    add("DP+TP corrected", llmem_accounting(inventory, sl, job, LlmemGathered::corrected), cluster);
  }
  add("published code", llmem_code_accounting(inventory, sl, job), without_cdp);
  return selections;
}

namespace {

/// LLMem's own choice, as far as its formulas apply.
void choose_by_formulas(const PlanRequest& request, PlanResult& result) {
  if (is_other(request.run.plan.model.config)) {
    result.refusal = "its formulas need the sizes of a model whose family is known";
    return;
  }
  const EstimateInputs inputs = inputs_of(request);
  result.refusal = llmem_refusal(inputs);
  if (result.refusal.empty()) {
    result.broken = llmem_broken_assumptions(inputs);
    result.selections = llmem_selections(inputs, result.cluster);
  }
}

}  // namespace

PlanResult search_plan(const PlanRequest& request, Fleet& fleet) {
  PlanResult result;
  result.cluster = {.capacity = static_cast<double>(request.device.count()),
                    .n = request.gpus,
                    .tp_n = request.tp};
  choose_by_formulas(request, result);
  const SearchRequest search{request.run, request.memory, request.device, request.gpus,
                             request.search};
  if (request.simulates) {
    result.simulated = search_strategies(search, fleet);
  }
  fleet.end_of_pieces();
  if (result.simulated) {
    result.whole_states = states_above_a_gpu(search, *result.simulated);
  }
  return result;
}

}  // namespace highwater
