#include "workloads/estimates/terms/estimate_inputs.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kMostPerNode = 8;
constexpr std::int64_t kMostGpus = 1 << 20;

/// The GPUs of a job as numbers that multiply to it.
struct Nodes {
  std::int64_t gpus_per_node = 1;
  std::int64_t nodes = 1;

  [[nodiscard]] std::int64_t gpus() const { return gpus_per_node * nodes; }
};

/// What `job` specifies, and what `gpus` ranks need otherwise.
Nodes nodes_of(std::int64_t gpus, const JobSize& job) {
  if (job.gpus_per_node) {
    const std::int64_t per_node = *job.gpus_per_node;
    return {per_node, job.nodes.value_or(static_cast<int>((gpus + per_node - 1) / per_node))};
  }
  if (job.nodes) {
    return {(gpus + *job.nodes - 1) / *job.nodes, *job.nodes};
  }
  const std::int64_t per_node = usual_gpus_per_node(gpus);
  return {per_node, gpus / per_node};
}

std::int64_t model_ranks(const Parallelism& parallel) {
  return std::int64_t{parallel.tp} * parallel.pp * parallel.cp;
}

/// A list of parameters has tied ones once, and so may say what the largest module owns.
std::int64_t largest_layer_of(const ModelSpec& model, const std::vector<ParameterInfo>& tensors) {
  const bool is_list = lists_parameters(model.config);
  const auto said = is_list ? model.config.as<OtherConfig>().largest_layer : std::nullopt;
  return said ? *said : largest_module_parameters(tensors);
}

}  // namespace

std::int64_t usual_gpus_per_node(std::int64_t gpus) {
  std::int64_t per_node = std::min(gpus, kMostPerNode);
  while (gpus % per_node != 0) {
    --per_node;
  }
  return per_node;
}

std::string job_problem(const Parallelism& parallel, const JobSize& job) {
  const std::int64_t gpus = nodes_of(parallel.gpus(), job).gpus();
  const bool is_filled =
      parallel.dp > 1 ? gpus == parallel.gpus() : gpus % model_ranks(parallel) == 0;
  if (is_filled && gpus <= kMostGpus) {
    return "";
  }
  return fmt::format(
      "--gpus-per-node, --nodes: the job has {} GPUs, but dp {} x tp {} x pp {} x cp {} needs {}{}",
      gpus, parallel.dp, parallel.tp, parallel.pp, parallel.cp, parallel.gpus(),
      parallel.dp > 1 ? "; make them agree, or omit --dp"
                      : "; use a number of GPUs that is a multiple of the ranks");
}

EstimateInputs estimate_inputs(const TrainingPlan& plan, const JobSize& job) {
  EstimateInputs inputs;
  inputs.plan = plan;
  inputs.shape = shape_of(plan.model);
  inputs.count = parameter_count(plan.model.config);
  inputs.tensors = model_parameters(plan.model);
  inputs.largest_layer = largest_layer_of(plan.model, inputs.tensors);
  inputs.seq = *std::ranges::max_element(plan.seq);
  const Nodes nodes = nodes_of(plan.parallel.gpus(), job);
  inputs.gpus_per_node = static_cast<int>(nodes.gpus_per_node);
  inputs.nodes = static_cast<int>(nodes.nodes);
  if (plan.parallel.dp == 1) {
    inputs.plan.parallel.dp = static_cast<int>(nodes.gpus() / model_ranks(plan.parallel));
  }
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
