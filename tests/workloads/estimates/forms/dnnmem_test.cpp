// DNNMem's walk: a graph small enough to add up by hand, and real graphs against a count of every
// operator by itself.
#include "workloads/estimates/forms/dnnmem.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"
#include "workloads/training/outside_memory.hpp"

using namespace highwater;

namespace {

/// Builds a trace and its recording, one operator and at most one new block at a time.
class HandMadeGraph {
 public:
  /// An operator that reads blocks by number and makes one of `bytes`; returns the block's number.
  std::uint32_t add(std::uint64_t bytes, Category category,
                    std::vector<std::uint32_t> inputs = {}) {
    const auto block = static_cast<std::uint32_t>(trace_.allocation_count++);
    Event event;
    event.kind = EventKind::alloc;
    event.value = bytes;
    event.allocation = AllocationId(block);
    event.category = category;
    RecordedOperator op;
    op.begin = block;
    op.end = block + 1;
    op.first_block = static_cast<std::uint32_t>(recording_.blocks.size());
    op.block_count = static_cast<std::uint32_t>(inputs.size() + 1);
    for (const std::uint32_t input : inputs) {
      recording_.blocks.push_back({AllocationId(input), BlockRole::input});
    }
    recording_.blocks.push_back({AllocationId(block), BlockRole::output});
    recording_.operators.push_back(op);
    trace_.events.push_back(event);
    return block;
  }

  [[nodiscard]] ComputeGraph graph() {
    recording_.modules = {""};
    return {recording_, trace_};
  }

  [[nodiscard]] const RequestTrace& trace() const { return trace_; }

 private:
  RequestTrace trace_;
  GraphRecording recording_;
};

std::uint64_t rounded(std::uint64_t bytes) {
  return (bytes + 511) / 512 * 512;
}

bool is_counted(Category category) {
  return category == Category::activation || category == Category::temporary ||
         category == Category::gradient || category == Category::input ||
         category == Category::buffer;
}

/// Whether a tensor exists when `op` ends and is read by it or later, asked of its consumers.
bool is_live(const ComputeGraph& graph, TensorId tensor, OpId op) {
  const OpId made = graph.producer(tensor);
  if (!made.has_value() || made > op || !is_counted(graph.category(tensor))) {
    return false;
  }
  const bool stays =
      graph.category(tensor) == Category::gradient || graph.category(tensor) == Category::buffer;
  const std::vector<OpId> readers = graph.consumers(tensor);
  return stays || made == op ||
         std::ranges::any_of(readers, [op](OpId reader) { return reader >= op; });
}

std::uint64_t live_bytes(const ComputeGraph& graph, OpId op) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    sum += is_live(graph, TensorId(i), op) ? rounded(graph.bytes(TensorId(i)).count()) : 0;
  }
  return sum;
}

std::uint64_t worst_operator(const ComputeGraph& graph, const OperatorRange& range) {
  std::uint64_t worst = 0;
  for (auto op = range.first.value(); op < range.last.value(); ++op) {
    worst = std::max(worst, live_bytes(graph, OpId(op)));
  }
  return worst;
}

/// Two layers of GPT-2's shape.
TrainingPlan toy_plan() {
  Gpt2Config config;
  config.vocab_size = 1013;
  config.n_positions = 64;
  config.n_embd = 120;
  config.n_layer = 2;
  config.n_head = 6;
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model.config = config;
  plan.batch = 2;
  plan.seq = {62};
  plan.steps = 2;
  return plan;
}

std::vector<TrainingPlan> plans() {
  std::vector<TrainingPlan> result{toy_plan()};
  result.push_back(toy_plan());
  result.back().checkpoint.kind = CheckpointKind::full;
  result.push_back(toy_plan());
  result.back().precision = Precision::bf16;
  result.back().optimizer.master_weights = true;
  result.push_back(toy_plan());
  result.back().grad_accum = 2;
  result.back().attention = Attention::eager;
  return result;
}

}  // namespace

TEST_CASE("DNNMem frees tensors after their last use and keeps gradients of weights") {
  HandMadeGraph made;
  const auto weight = made.add(1000, Category::parameter);
  const auto input = made.add(700, Category::input);
  const auto first = made.add(1500, Category::activation, {input, weight});
  const auto second = made.add(100, Category::activation, {first});
  made.add(1000, Category::gradient, {second, weight});
  made.add(3000, Category::temporary, {second});
  const ComputeGraph graph = made.graph();
  const auto peak = [&](std::uint32_t from, std::uint32_t to) {
    return dnnmem_tensors(graph, {OpId(from), OpId(to)}).count();
  };
  CHECK(dnnmem_weights(graph, made.trace(), {OpId(2U), OpId(6U)}).count() == 1024);
  CHECK(peak(2, 3) == 1024 + 1536);        // input and first
  CHECK(peak(3, 4) == 1536 + 512);         // first and second
  CHECK(peak(3, 5) == 1536 + 512);         // more than second and gradient
  CHECK(peak(2, 6) == 512 + 1024 + 3072);  // second, gradient, temporary
  CHECK(peak(6, 6) == 0);
}

TEST_CASE("DNNMem adds context, weights, the worst operator and the buffer") {
  HandMadeGraph made;
  made.add(1000, Category::parameter);
  made.add(700, Category::input);
  const ComputeGraph graph = made.graph();
  const Estimate estimate = dnnmem(Bytes{12345}, graph, made.trace(), {OpId(1U), OpId(2U)});
  REQUIRE(estimate.terms.size() == 4);
  CHECK(estimate.bytes() == 12345 + 1024 + 1024 + 67108864);
}

TEST_CASE("DNNMem's walk finds the worst of all operators") {
  for (const TrainingPlan& plan : plans()) {
    const GeneratedGraph run = generate_with_graph(plan);
    const ComputeGraph graph(run.recording, run.trace);
    const OperatorRange range = first_micro_batch(graph, run.trace);
    CHECK(dnnmem_tensors(graph, range).count() == worst_operator(graph, range));
  }
}

TEST_CASE("DNNMem's row counts every weight once") {
  const EstimateInputs inputs = estimate_inputs(toy_plan());
  REQUIRE(kDnnmem.refusal(inputs).empty());
  const Estimate estimate = kDnnmem.evaluate(inputs);
  std::uint64_t weights = 0;
  for (const ParameterInfo& tensor : inputs.tensors) {
    weights += rounded(4 * static_cast<std::uint64_t>(tensor.elements));
  }
  const auto context = outside_memory(inputs.plan.gpu, inputs.plan.versions.torch).context;
  CHECK(estimate.terms.at(0).bytes == static_cast<double>(context.count()));
  CHECK(estimate.terms.at(1).bytes == static_cast<double>(weights));
  CHECK(estimate.terms.at(2).bytes > 0);
}

TEST_CASE("DNNMem says nothing where there is no graph") {
  EstimateInputs parallel = estimate_inputs(toy_plan());
  parallel.plan.parallel.tp = 2;
  CHECK_FALSE(kDnnmem.refusal(parallel).empty());
  EstimateInputs inference = estimate_inputs(toy_plan());
  inference.plan.training = false;
  CHECK_FALSE(kDnnmem.refusal(inference).empty());
}

TEST_CASE("DNNMem says that it knows neither low precision nor optimizer states") {
  TrainingPlan plan = toy_plan();
  plan.precision = Precision::amp_bf16;
  CHECK(kDnnmem.broken_assumptions(estimate_inputs(plan)).size() == 2);
  plan.precision = Precision::fp32;
  plan.optimizer.kind = OptimizerKind::sgd;
  CHECK(kDnnmem.broken_assumptions(estimate_inputs(plan)).empty());
}
