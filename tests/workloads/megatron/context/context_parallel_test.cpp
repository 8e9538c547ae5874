// Context parallelism: chunks and exchanges by hand, what a layer keeps, and whose gradients are
// summed.
#include <catch2/catch.hpp>

#include "tests/workloads/megatron/megatron_plans.hpp"
#include "workloads/distributed/communicators.hpp"
#include "workloads/estimates/forms/megatron.hpp"
#include "workloads/megatron/context/kv_ring.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/ranks.hpp"

using namespace highwater;
using namespace highwater::testing;
using megatron::ring_lengths;

namespace {

TrainingPlan plan_of(const Parallelism& parallel) {
  return megatron_plan(small_llama(), parallel);
}

/// Bytes that one more layer keeps from the forward for the backward.
std::int64_t kept_by_layer(TrainingPlan plan) {
  const auto kept = [&](std::int64_t layers) {
    plan.model = small_llama(layers);
    return live_at(plan, 1, "backward") - live_at(plan, 1, "data");
  };
  return kept(3) - kept(2);
}

}  // namespace

TEST_CASE("ring: with the causal mask every rank has the same work", "[workloads][cp]") {
  constexpr std::int64_t kLength = 64;
  for (int ranks = 2; ranks <= 5; ++ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      std::int64_t work = 0;
      std::int64_t outputs = 0;
      for (int step = 0; step < ranks; ++step) {
        const auto lengths = ring_lengths(rank, step, kLength);
        work += lengths.query * lengths.key / (step == 0 ? 2 : 1);
        outputs += lengths.query;
      }
      CHECK(work == ranks * kLength * kLength / 2);
      // rank + 1 results of all queries, then of the second half only.
      CHECK(outputs == (rank + 1) * kLength + (ranks - rank - 1) * kLength / 2);
    }
  }
}

// Of n = s b / cp tokens: the layer's input, both norms' results, queries, attention's result and
// the same as [s, b, h], the residual (7 h), keys and values, the logarithms of the sums, fp32 rows
// of two norms, the gate's input and result, and 16 bytes of random state a step.
TEST_CASE("ring and ulysses: a layer keeps 1 / cp of its activations", "[workloads][cp]") {
  constexpr std::int64_t kKeyWidth = kKvHeads * (kHidden / kHeads);
  for (const ContextParallel kind : {ContextParallel::ring, ContextParallel::ulysses}) {
    for (const int cp : {2, 4}) {
      TrainingPlan plan = plan_of({.cp = cp});
      plan.parallel.cp_kind = kind;
      const std::int64_t tokens = kSeq * kBatch / cp;
      const std::int64_t states = kind == ContextParallel::ring ? cp : 1;
      const std::int64_t expected =
          tokens * (7 * 2 * kHidden + 2 * 2 * kKeyWidth + 4 * kHeads + 2 * 4 + 3 * 2 * kFfn) +
          16 * states;
      CHECK(kept_by_layer(plan) == expected);
    }
  }
}

TEST_CASE("context parallel: batches of all ranks are the whole one", "[workloads][cp]") {
  TrainingPlan plan = plan_of({});
  const std::int64_t whole = live_at(plan, 1, "forward", Category::input);
  plan.parallel.cp = 4;
  CHECK(4 * live_at(plan, 1, "forward", Category::input) == whole);
}

TEST_CASE("context parallel: states are shared by dp * cp ranks", "[workloads][cp]") {
  const MegatronModel model{.hidden = kHidden,
                            .layers = 2,
                            .ffn = kFfn,
                            .padded_vocab = 1024,
                            .query_ratio = 1,
                            .kv_ratio = 0.5,
                            .gated = true,
                            .rms_norm = true,
                            .untied = true};
  constexpr double kLossScale = 4;
  for (const bool shares : {false, true}) {
    TrainingPlan plan = plan_of({.dp = 2, .cp = 2});
    plan.parallel.dp_kind = shares ? DataParallel::zero1 : DataParallel::ddp;
    const MegatronJob job{.dp = 4, .distributed_optimizer = shares};
    CHECK(static_cast<double>(states_of(plan)) == megatron_states(model, job).bytes() + kLossScale);
  }
}

TEST_CASE("ring: later ranks need more, and all of them are ranks apart", "[workloads][cp]") {
  TrainingPlan plan = plan_of({.dp = 2, .cp = 4});
  const auto classes = rank_classes(plan);
  REQUIRE(classes.size() == 4);
  CHECK(classes[3].rank == 3);
  CHECK(classes[3].ranks == 2);
  CHECK(classes[3].place.cp == 3);
  CHECK(classes[3].what == "part 3 of 4 of each sequence");
  plan.parallel.rank = 0;
  const std::int64_t first = peak_of(plan);
  plan.parallel.rank = 3;
  CHECK(peak_of(plan) >= first);
  plan.parallel.cp_kind = ContextParallel::ulysses;
  CHECK(rank_classes(plan).size() == 1);
}

// The forward of two layers on the last of cp ranks: cp pairs of keys and values each, the last one
// of which is kept and so an activation.
TEST_CASE("ring: the buffers of the forward, by hand", "[workloads][cp]") {
  constexpr int kCp = 4;
  TrainingPlan plan = plan_of({.cp = kCp, .rank = kCp - 1});
  const RequestTrace trace = generate(plan);
  constexpr std::int64_t kTokens = kSeq * kBatch / kCp;
  std::vector<std::int64_t> pairs;
  for (const Event& event : trace.events) {
    const auto bytes = static_cast<std::int64_t>(event.value);
    if (event.kind == EventKind::alloc && event.category == Category::communication) {
      pairs.push_back(bytes);
    }
    if (event.kind == EventKind::phase && trace.tables.strings[event.text()] == "backward") {
      break;
    }
  }
  constexpr std::int64_t kPair = 2 * 2 * kTokens * kKvHeads * (kHidden / kHeads);
  CHECK(pairs == std::vector<std::int64_t>(2 * (kCp - 1), kPair));
}

TEST_CASE("context parallel: steps repeat", "[workloads][cp]") {
  for (const ContextParallel kind : {ContextParallel::ring, ContextParallel::ulysses}) {
    TrainingPlan plan = plan_of({.dp = 2, .tp = 2, .sequence_parallel = true, .cp = 2});
    plan.parallel.cp_kind = kind;
    plan.steps = 4;
    plan.grad_accum = 2;
    const Walk walk(generate(plan));
    CHECK(walk.steps[2] == walk.steps[3]);
  }
}

TEST_CASE("context parallel: what cannot be split is refused", "[workloads][cp]") {
  const auto problems = [](const Parallelism& parallel) {
    return plan_problems(plan_of(parallel)).size();
  };
  CHECK(problems({.cp = 2}) == 0);
  CHECK(problems({.cp = 3}) == 1);  // 256 tokens
  CHECK(problems({.cp = 8, .cp_kind = ContextParallel::ulysses}) == 1);
  CHECK(problems({.cp_kind = ContextParallel::ulysses}) == 1);
  TrainingPlan plan = plan_of({.cp = 2});
  plan.attention = Attention::eager;
  CHECK(plan_problems(plan).size() == 1);
}

TEST_CASE("context parallel: gradients of dp * cp ranks have one communicator", "[workloads][cp]") {
  const auto list = dist::communicators({.dp = 1, .cp = 2});
  REQUIRE(list.size() == 2);
  CHECK(list[0].axis == "data parallel");
  CHECK(list[0].ranks == 2);
}
