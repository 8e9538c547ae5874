// Tensor parallelism with DTensors: shards and collectives by hand, and what the plan changes in a
// trace.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/step_requests.hpp"
#include "workloads/distributed/tensor_parallel/dtensor_functions.hpp"
#include "workloads/distributed/tensor_parallel/loss_parallel.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using highwater::distributed_runs::requests_of;

namespace {

using eager::Runtime;
using eager::Tensor;

constexpr std::int64_t kVocab = 510;  // 128 + 128 + 128 + 126 rows on 4 ranks
constexpr std::int64_t kWidth = 128;
constexpr std::int64_t kFfn = 256;
constexpr std::int64_t kLayers = 2;
constexpr std::int64_t kNormBytes = (2 * kLayers + 1) * kWidth * 4;
constexpr std::int64_t kMatrixBytes =
    (2 * kVocab * kWidth + kLayers * (4 * kWidth * kWidth + 3 * kWidth * kFfn)) * 4;

TrainingPlan small_plain(int ranks) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = {"small-plain", "test",
                TorchtitanConfig{.vocab = kVocab,
                                 .dim = kWidth,
                                 .ffn = kFfn,
                                 .layers = kLayers,
                                 .heads = 4,
                                 .kv_heads = 4}};
  plan.loss.kind = LossKind::flat;
  plan.model_code = ModelCode::torchtitan;
  plan.batch = 2;
  plan.seq = {64};
  plan.parallel.tp = ranks;
  plan.parallel.tp_kind = TensorParallel::dtensor;
  return plan;
}

ModelSpec small_llama() {
  LlamaConfig config;
  config.vocab_size = 512;
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 4;
  return {"small-llama", "test", config};
}

/// Allocations (bytes) and frees (minus bytes) in the order of the trace from phase `begin` on.
std::vector<std::int64_t> requests_after(const RequestTrace& trace, std::string_view begin) {
  std::vector<std::int64_t> requests;
  std::vector<std::int64_t> bytes;
  bool is_inside = false;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::phase) {
      is_inside = trace.tables.strings[event.text()] == begin;
    } else if (event.kind == EventKind::alloc) {
      bytes.push_back(static_cast<std::int64_t>(event.value));
      if (is_inside) {
        requests.push_back(bytes.back());
      }
    } else if (event.kind == EventKind::free && is_inside) {
      requests.push_back(-bytes[event.allocation.index()]);
    }
  }
  return requests;
}

/// Bytes of a category that outlive the run.
std::int64_t bytes_left(const RequestTrace& trace, Category category) {
  std::map<std::uint64_t, std::int64_t> alive;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && event.category == category) {
      alive[event.allocation.index()] = static_cast<std::int64_t>(event.value);
    } else if (event.kind == EventKind::free) {
      alive.erase(event.allocation.index());
    }
  }
  std::int64_t bytes = 0;
  for (const auto& [block, size] : alive) {
    bytes += size;
  }
  return bytes;
}

/// One operation on a [2, 6, 8] fp32 tensor on 2 ranks.
template <class Operation>
std::vector<std::int64_t> requests_on_two(Operation operation) {
  Runtime runtime(default_gpu(), {2, 6}, {5, 12});
  {
    dist::DeviceMesh mesh(runtime, 2, 0, CommBackend::fake);
    const Tensor tensor = eager::empty(runtime, {2, 6, 8}, DType::fp32);
    runtime.mark_phase("operation");
    operation(mesh, tensor);
    runtime.mark_phase("end");
  }
  return requests_after(runtime.take_trace(), "operation");
}

}  // namespace

TEST_CASE("dtensor: shards are cut as torch.chunk cuts", "[workloads][dtensor]") {
  Runtime runtime(default_gpu(), {2, 6}, {5, 12});
  const auto sizes = [&](std::int64_t whole, int ranks) {
    std::vector<std::int64_t> result;
    for (int rank = 0; rank < ranks; ++rank) {
      result.push_back(dist::DeviceMesh(runtime, ranks, rank, CommBackend::fake).shard_size(whole));
    }
    return result;
  };
  CHECK(sizes(12, 4) == std::vector<std::int64_t>{3, 3, 3, 3});
  CHECK(sizes(10, 4) == std::vector<std::int64_t>{3, 3, 3, 1});
  CHECK(sizes(9, 4) == std::vector<std::int64_t>{3, 3, 3, 0});
  CHECK(sizes(2, 4) == std::vector<std::int64_t>{1, 1, 0, 0});
}

TEST_CASE("dtensor: what each change of layout asks for", "[workloads][dtensor]") {
  constexpr std::int64_t kWhole = 2 * 6 * 8 * 4;
  using Requests = std::vector<std::int64_t>;
  // A sum over ranks needs a copy that is the result.
  CHECK(requests_on_two([](auto& mesh, auto& t) { mesh.all_reduce(t); }) ==
        Requests{kWhole, -kWhole});
  // Ranks are gathered along dimension 0; along another one the result is a copy.
  CHECK(requests_on_two([](auto& mesh, auto& t) { mesh.all_gather(t, 0, 4); }) ==
        Requests{2 * kWhole, -2 * kWhole});
  CHECK(requests_on_two([](auto& mesh, auto& t) { mesh.all_gather(t, 1, 12); }) ==
        Requests{2 * kWhole, 2 * kWhole, -2 * kWhole, -2 * kWhole});
  // 11 of 12: this rank has 6, the other 5; the result is a view.
  CHECK(requests_on_two([](auto& mesh, auto& t) { mesh.all_gather(t, 1, 11); }) ==
        Requests{2 * kWhole, 2 * kWhole, -2 * kWhole, -2 * kWhole});
  // Pieces for each rank must lie one behind the other before they are summed.
  CHECK(requests_on_two([](auto& mesh, auto& t) { mesh.reduce_scatter(t, 0); }) ==
        Requests{kWhole / 2, -kWhole / 2});
  CHECK(requests_on_two([](auto& mesh, auto& t) { mesh.reduce_scatter(t, 1); }) ==
        Requests{kWhole, kWhole / 2, -kWhole, -kWhole / 2});
  CHECK(requests_on_two([](auto& mesh, auto& t) { static_cast<void>(mesh.piece(t, 2)); }) ==
        Requests{kWhole / 2, -kWhole / 2});
  // Columns are copied for each rank, and the result is one more block; rows are views.
  CHECK(requests_on_two([](auto& mesh, auto& t) { mesh.scatter(t, 2); }) ==
        Requests{kWhole / 2, kWhole / 2, kWhole / 2, -kWhole / 2, -kWhole / 2, -kWhole / 2});
  CHECK(requests_on_two([](auto& mesh, auto& t) { mesh.scatter(t, 0); }) ==
        Requests{kWhole / 2, -kWhole / 2});
}

TEST_CASE("dtensor: two gradients of a DTensor make a third block", "[workloads][dtensor]") {
  const auto backward_requests = [](bool is_dtensor) {
    Runtime runtime(default_gpu(), {2, 6}, {5, 12});
    {
      Tensor leaf = eager::empty(runtime, {256}, DType::fp32);
      leaf->requires_grad = true;
      Tensor x = eager::neg(leaf);
      if (is_dtensor) {
        x = dist::from_local(x);
      }
      Tensor y = eager::add(eager::neg(x), eager::neg(x));
      runtime.mark_phase("backward");
      eager::backward(y, eager::empty(runtime, {256}, DType::fp32));
      runtime.mark_phase("end");
    }
    return std::ranges::count_if(requests_after(runtime.take_trace(), "backward"),
                                 [](std::int64_t bytes) { return bytes > 0; });
  };
  CHECK(backward_requests(false) == 1 + 3);  // the root's, two of x, one of the leaf
  CHECK(backward_requests(true) == 1 + 3 + 1);
}

TEST_CASE("dtensor: parameters of all ranks are the model and its replicated norms",
          "[workloads][dtensor]") {
  for (const bool sequence : {false, true}) {
    std::int64_t bytes = 0;
    for (int rank = 0; rank < 4; ++rank) {
      TrainingPlan plan = small_plain(4);
      plan.parallel.sequence_parallel = sequence;
      plan.parallel.rank = rank;
      plan.init = ModelInit::meta;
      const std::int64_t own = bytes_left(generate(plan), Category::parameter);
      const bool is_last = rank == 3;  // two rows less of the table and of the head
      CHECK(own == kNormBytes + kMatrixBytes / 4 + (is_last ? -3 : 1) * kWidth * 4);
      bytes += own;
    }
    CHECK(bytes == kMatrixBytes + 4 * kNormBytes);
  }
  // What is scattered keeps its padding.
  TrainingPlan plan = small_plain(4);
  const std::int64_t of_first = bytes_left(generate(plan), Category::parameter);
  plan.parallel.rank = 3;
  CHECK(bytes_left(generate(plan), Category::parameter) == of_first);
}

TEST_CASE("dtensor: one rank changes nothing", "[workloads][dtensor]") {
  const RequestTrace parallel = generate(small_plain(1));
  TrainingPlan plan = small_plain(1);
  plan.parallel = {};
  const RequestTrace alone = generate(plan);
  const auto all = [](const RequestTrace& trace) {
    std::vector<Event> events;
    for (const Event& event : trace.events) {
      events.push_back(event);
    }
    return events;
  };
  CHECK((all(parallel) == all(alone)));
}

TEST_CASE("dtensor: a table's gradient is whole on each rank", "[workloads][dtensor]") {
  TrainingPlan plan = small_plain(4);
  plan.zero_grad_at = ZeroGradAt::start;  // the last step's gradients live
  const std::int64_t table = kVocab * kWidth * 4;
  CHECK(bytes_left(generate(plan), Category::gradient) ==
        kNormBytes + (kMatrixBytes - table) / 4 + 2 * kWidth + table);
}

TEST_CASE("dtensor: a loss over split logits never has them whole", "[workloads][dtensor]") {
  TrainingPlan plan = small_plain(4);
  plan.parallel.sequence_parallel = true;
  plan.seq = {48};  // 64 rows would be as large as the table
  const auto has_logits = [&](std::int64_t classes) {
    const auto requests = requests_of(generate(plan), 1);
    return std::ranges::find(requests, 2 * 48 * classes * 4) != requests.end();
  };
  CHECK(has_logits(kVocab));
  plan.parallel.loss_parallel = true;
  CHECK_FALSE(has_logits(kVocab));
}

TEST_CASE("dtensor: combinations that PyTorch refuses are refused", "[workloads][dtensor]") {
  TrainingPlan plan = small_plain(4);
  CHECK(plan_problems(plan).empty());
  plan.grad_clip = 1.0;
  CHECK(plan_problems(plan).size() == 1);
  plan.parallel.sequence_parallel = true;
  CHECK(plan_problems(plan).empty());
  plan.seq = {66};
  CHECK(plan_problems(plan).size() == 1);
  plan.seq = {64};
  plan.optimizer.kind = OptimizerKind::adafactor;
  CHECK(plan_problems(plan).size() == 1);
  plan = small_plain(4);
  plan.model = small_llama();
  plan.model_code = ModelCode::hf;
  plan.loss.kind = LossKind::hf;
  CHECK(plan_problems(plan).empty());
  plan.parallel.sequence_parallel = true;
  CHECK(plan_problems(plan).size() == 1);
}

TEST_CASE("dtensor: any combination comes to a steady state", "[workloads][dtensor][property]") {
  std::mt19937 random(20250611);
  const auto chance = [&] { return random() % 2 == 0; };
  for (int i = 0; i < 40; ++i) {
    TrainingPlan plan = small_plain(chance() ? 2 : 4);
    plan.steps = 4;
    const bool is_llama = chance();
    if (is_llama) {
      plan.model = small_llama();
      plan.model_code = ModelCode::hf;
      plan.loss.kind = LossKind::hf;
    }
    plan.parallel.rank = static_cast<int>(random() % static_cast<unsigned>(plan.parallel.tp));
    plan.parallel.sequence_parallel = !is_llama && chance();
    plan.parallel.loss_parallel = plan.parallel.sequence_parallel && chance();
    plan.precision =
        std::array{Precision::fp32, Precision::bf16, Precision::amp_bf16}[random() % 3];
    plan.checkpoint.kind = chance() ? CheckpointKind::none : CheckpointKind::full;
    plan.checkpoint.reentrant = plan.checkpoint.kind == CheckpointKind::full && chance();
    plan.grad_accum = 1 + static_cast<int>(random() % 3);
    plan.init = chance() ? ModelInit::device : ModelInit::meta;
    plan.optimizer.kind = std::array{OptimizerKind::adamw,   OptimizerKind::adam,
                                     OptimizerKind::sgd,     OptimizerKind::sgd_momentum,
                                     OptimizerKind::rmsprop, OptimizerKind::adagrad}[random() % 6];
    plan.optimizer.impl = chance() ? OptimizerImpl::foreach : OptimizerImpl::loop;
    if (plan.parallel.sequence_parallel && chance()) {
      plan.grad_clip = 1.0;
    }
    CAPTURE(i);
    REQUIRE(plan_problems(plan).empty());
    REQUIRE(generator_gaps(plan).empty());
    const RequestTrace trace = generate(plan);
    CHECK(requests_of(trace, 2) == requests_of(trace, 3));
  }
}
