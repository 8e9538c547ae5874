// The example of Hugging Face's article on GPU memory (https://huggingface.co/blog/train_memory):
// one nn.Linear(10_000, 50_000) in fp32, trained on 5,000 x 10,000 inputs.
#include <algorithm>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/optim/optimizer.hpp"
#include "workloads/plan/gpu.hpp"

using namespace highwater;

namespace {

constexpr std::int64_t kIn = 10'000;
constexpr std::int64_t kOut = 50'000;
constexpr std::int64_t kRows = 5'000;
constexpr std::int64_t kWeights = 4 * (kIn * kOut + kOut);  // 2 GB
constexpr std::int64_t kInputs = 4 * kRows * kIn;           // 200 MB
constexpr std::int64_t kOutputs = 4 * kRows * kOut;         // 1 GB

constexpr std::int64_t kScalars = 16;  // the loss and its like

bool is_near(std::int64_t value, std::int64_t expected, std::int64_t slack) {
  return value >= expected && value - expected <= slack;
}

/// Live bytes but cuBLAS's workspaces when a phase of that name begins, and the highest in it.
struct Moment {
  std::int64_t begin = 0;
  std::int64_t peak = 0;
};

std::map<std::string, Moment> moments_of(const RequestTrace& trace) {
  std::map<std::string, Moment> moments;
  std::map<std::uint32_t, std::int64_t> live;
  std::int64_t bytes = 0;
  Moment* current = &moments["start"];
  for (const auto& event : trace.events) {
    if (event.kind == EventKind::phase) {
      current = &moments[std::string(trace.tables.strings[event.text()])];
      *current = {bytes, bytes};
    } else if (event.kind == EventKind::alloc && event.category != Category::workspace) {
      bytes += live[event.allocation.value()] = static_cast<std::int64_t>(event.value);
      current->peak = std::max(current->peak, bytes);
    } else if (event.kind == EventKind::free) {
      bytes -= live[event.allocation.value()];
    }
  }
  return moments;
}

eager::Tensor parameter(eager::Runtime& runtime, const eager::Dims& sizes) {
  eager::Tensor tensor = eager::empty(runtime, sizes, DType::fp32);
  tensor->requires_grad = true;
  return tensor;
}

RequestTrace two_iterations() {
  eager::Runtime runtime(default_gpu(), {.major = 2, .minor = 6}, {.major = 5, .minor = 12});
  const eager::Tensor weight = parameter(runtime, {kOut, kIn});
  const eager::Tensor bias = parameter(runtime, {kOut});
  OptimizerRun optimizer(runtime, {.kind = OptimizerKind::adam}, {{weight, bias}});
  eager::Tensor inputs;
  eager::Tensor outputs;
  eager::Tensor loss;
  for (const std::string iteration : {"first ", "second "}) {
    runtime.mark_phase(iteration + "inputs");
    inputs = eager::empty(runtime, {kRows, kIn}, DType::fp32);
    runtime.mark_phase(iteration + "forward");
    outputs = eager::linear(inputs, weight, bias);
    runtime.mark_phase(iteration + "loss");
    loss = eager::sum(outputs, {}, KeepDim::no);
    runtime.mark_phase(iteration + "backward");
    eager::backward(loss);
    runtime.mark_phase(iteration + "step");
    optimizer.step();
    runtime.mark_phase(iteration + "zero_grad");
    optimizer.zero_grad(optim::ZeroGrad::to_none);
  }
  runtime.mark_phase("end");
  return runtime.take_trace();
}

}  // namespace

TEST_CASE("linear example: each stage adds what the article shows", "[workloads][closed_form]") {
  const auto trace = two_iterations();
  auto at = moments_of(trace);
  CHECK(at["first inputs"].begin == kWeights);
  CHECK(at["first forward"].begin == kWeights + kInputs);
  CHECK(at["first loss"].begin == kWeights + kInputs + kOutputs);
  CHECK(is_near(at["first step"].begin, 2 * kWeights + kInputs + kOutputs, kScalars));
  // Adam keeps two states of the parameters' size and needs a third while it steps.
  CHECK(is_near(at["first step"].peak, 5 * kWeights + kInputs + kOutputs, kScalars));
  CHECK(is_near(at["first zero_grad"].begin, 4 * kWeights + kInputs + kOutputs, kScalars));
  // From the second iteration on the old batch and outputs live until their names are bound again.
  CHECK(is_near(at["second inputs"].peak, 3 * kWeights + 2 * kInputs + kOutputs, kScalars));
  // Beside them cuBLASLt's workspace, during the call.
  CHECK(is_near(at["second forward"].peak, 3 * kWeights + kInputs + 2 * kOutputs,
                kScalars + (std::int64_t{1} << 20)));
  CHECK(is_near(at["end"].begin, 3 * kWeights + kInputs + kOutputs, kScalars));
}
