#include "tools/plan_search.hpp"

#include <algorithm>
#include <utility>

#include "tools/rank_survey.hpp"
#include "workloads/estimates/llmem_plan.hpp"

namespace highwater {
namespace {

/// What the allocator gets of a device.
Bytes allocator_share(const PlanRequest& request) {
  const TrainingPlan& plan = request.run.plan;
  const Bytes outside = outside_memory(plan.gpu, plan.versions.torch).context;
  return request.device - std::min(request.device, outside);
}

BatchSearch search_by_simulation(const PlanRequest& request) {
  MemoryRequest memory = request.memory;
  memory.capacity = allocator_share(request);
  return find_largest_batch(request.run, memory);
}

/// The plan that LLMem's questions are about, whatever strategy it will choose.
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

PlanResult search_plan(const PlanRequest& request) {
  PlanResult result;
  const EstimateInputs inputs = inputs_of(request);
  result.cluster = {.capacity = static_cast<double>(request.device.count()),
                    .n = request.gpus,
                    .tp_n = request.tp};
  result.refusal = llmem_refusal(inputs);
  if (result.refusal.empty()) {
    result.broken = llmem_broken_assumptions(inputs);
    result.selections = llmem_selections(inputs, result.cluster);
  }
  if (request.gpus == 1) {
    result.simulated = search_by_simulation(request);
  }
  return result;
}

}  // namespace highwater
