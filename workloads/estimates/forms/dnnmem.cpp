#include "workloads/estimates/forms/dnnmem.hpp"

#include <algorithm>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/graph/liveness.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {
namespace {

constexpr Bytes kBlock{512};  // kMinBlockSize of c10/cuda/CUDACachingAllocator.cpp

// DNNMem counts weights separately and covers neither optimizer states nor library workspaces.
bool is_traversed(Category category) {
  return category != Category::parameter && category != Category::optimizer_state &&
         category != Category::workspace;
}

// Read again after the micro-batch: by the optimizer, by the next forward.
bool outlives_range(Category category) {
  return category == Category::gradient || category == Category::buffer;
}

TrainingPlan one_step_of(TrainingPlan plan) {
  plan.steps = 1;
  plan.seq.resize(std::min(plan.seq.size(), static_cast<std::size_t>(plan.grad_accum)));
  return plan;
}

std::string refusal(const EstimateInputs& inputs) {
  if (std::string reason = refuse_without_training(inputs); !reason.empty()) {
    return reason;
  }
  const TrainingPlan plan = one_step_of(inputs.plan);
  for (const auto& complaints : {plan_problems(plan), generator_gaps(plan)}) {
    if (!complaints.empty()) {
      return "it needs the plan's compute graph: " + complaints.front();
    }
  }
  return "";
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  return broken({{inputs.plan.precision == Precision::fp32, "it assumes fp32 throughout"},
                 {inputs.plan.optimizer.kind == OptimizerKind::none ||
                      inputs.plan.optimizer.kind == OptimizerKind::sgd,
                  "it does not cover optimizer states"}});
}

Estimate evaluate(const EstimateInputs& inputs) {
  const TrainingPlan plan = one_step_of(inputs.plan);
  const GeneratedGraph run = generate_with_graph(plan);
  const ComputeGraph graph(run.recording, run.trace);
  return dnnmem(outside_memory(plan).context, graph, run.trace,
                first_micro_batch(graph, run.trace));
}

}  // namespace

Bytes dnnmem_weights(const ComputeGraph& graph, const RequestTrace& trace,
                     const OperatorRange& range) {
  if (range.first >= range.last) {
    return {};
  }
  const std::uint64_t begin = graph.begin(range.first);
  Bytes sum;
  std::uint32_t block = 0;
  for (const TensorLifetime& life : lifetimes(graph, trace)) {
    const TensorId tensor(block++);
    const bool exists = life.allocated < begin && life.freed >= begin;
    if (exists && graph.category(tensor) == Category::parameter) {
      sum += round_up(graph.bytes(tensor), kBlock);
    }
  }
  return sum;
}

Bytes dnnmem_tensors(const ComputeGraph& graph, const OperatorRange& range) {
  if (range.first >= range.last) {
    return {};
  }
  const std::size_t first = range.first.index();
  const std::size_t last = range.last.index();
  std::vector<Bytes> born(last - first);
  std::vector<Bytes> released(last - first);  // after the operator
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorId tensor(i);
    const OpId made = graph.producer(tensor);
    if (!made.has_value() || made.index() >= last || !is_traversed(graph.category(tensor))) {
      continue;
    }
    const bool stays = outlives_range(graph.category(tensor));
    const std::size_t end = stays ? last - 1 : std::min(graph.last_use(tensor).index(), last - 1);
    if (end >= first) {
      const Bytes size = round_up(graph.bytes(tensor), kBlock);
      born[std::max(made.index(), first) - first] += size;
      released[end - first] += size;
    }
  }
  Bytes live;
  Bytes peak;
  for (std::size_t op = 0; op < born.size(); ++op) {
    live += born[op];
    peak = std::max(peak, live);
    live -= released[op];
  }
  return peak;
}

Estimate dnnmem(Bytes context, const ComputeGraph& graph, const RequestTrace& trace,
                const OperatorRange& range) {
  using enum MemoryPart;
  const auto bytes = [](Bytes size) { return static_cast<double>(size.count()); };
  return {{{"context", "m_ctx", bytes(context), {outside}},
           {"weights",
            "SUM ceil_512(weights)",
            bytes(dnnmem_weights(graph, trace, range)),
            {parameters}},
           {"tensors at the worst operator",
            "max_op SUM_live ceil_512(tensor)",
            bytes(dnnmem_tensors(graph, range)),
            {activations, logits, gradients, weight_copies, temporaries, inputs, buffers}},
           {"allocator buffer",
            "64 MiB",
            bytes(kDnnmemBuffer),
            {rounding, split_tails, segment_slack, isolation}}}};
}

const Formula kDnnmem{
    .name = "dnnmem",
    .title = "DNNMem, as LLMem describes it",
    .scope = FormulaScope::device,
    .equation =
        "m_ctx + SUM ceil_512(weights) + max over operators of SUM_live ceil_512(tensor) + "
        "64 MiB",
    .source =
        "\"LLMem: Estimating GPU Memory Usage for Fine-Tuning Pre-Trained LLMs\", on DNNMem "
        "(Gao et al., \"Estimating GPU Memory Consumption of Deep Learning Models\", ESEC/FSE "
        "2020)",
    .assumptions =
        "one GPU, no mixed precision, tensors released after their last use in the graph",
    .known_errors =
        "it omits optimizer states, and references that keep tensors alive longer than the graph "
        "does; LLMem reports errors of 34 to 57 % for fp16 fine-tuning of four models",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
};

}  // namespace highwater
