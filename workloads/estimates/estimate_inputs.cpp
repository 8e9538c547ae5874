#include "workloads/estimates/estimate_inputs.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace highwater {
namespace {

constexpr int kUsualGpusPerNode = 8;

/// Data-parallel ranks: as the plan says, or what the other axes leave of the job.
int data_parallel_size(const Parallelism& parallel, int gpus) {
  const int model_ranks = parallel.tp * parallel.pp * parallel.cp;
  return parallel.dp > 1 ? parallel.dp : std::max(1, gpus / model_ranks);
}

}  // namespace

EstimateInputs estimate_inputs(const TrainingPlan& plan, const JobSize& job) {
  EstimateInputs inputs;
  inputs.plan = plan;
  inputs.shape = shape_of(plan.model);
  inputs.count = parameter_count(plan.model.config);
  inputs.tensors = model_parameters(plan.model);
  inputs.seq = *std::ranges::max_element(plan.seq);
  const int gpus = plan.parallel.gpus();
  inputs.gpus_per_node = job.gpus_per_node.value_or(std::min(gpus, kUsualGpusPerNode));
  inputs.nodes =
      job.nodes.value_or(std::max(1, (gpus + inputs.gpus_per_node - 1) / inputs.gpus_per_node));
  inputs.plan.parallel.dp = data_parallel_size(plan.parallel, inputs.gpus());
  return inputs;
}

std::int64_t largest_module_parameters(const std::vector<ParameterInfo>& tensors) {
  std::map<std::string_view, std::int64_t> by_module;
  std::int64_t largest = 0;
  for (const ParameterInfo& tensor : tensors) {
    const std::string_view name = tensor.name;
    const std::size_t dot = name.rfind('.');
    std::int64_t& sum = by_module[name.substr(0, dot == std::string_view::npos ? 0 : dot)];
    sum += tensor.elements;
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace highwater
