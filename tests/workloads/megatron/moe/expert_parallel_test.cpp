// Expert parallelism: tokens by hand, whose experts they are, and what states take.
#include "workloads/megatron/layers/expert_parallel.hpp"

#include <numeric>
#include <random>

#include <catch2/catch.hpp>

#include "tests/workloads/megatron/megatron_plans.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/ranks.hpp"

using namespace highwater;
using namespace highwater::testing;
using megatron::dropless_counts;
using megatron::padded_counts;
using megatron::TokenCounts;

namespace {

TrainingPlan plan_of(const Parallelism& parallel) {
  return megatron_plan(small_mixtral(), parallel);
}

constexpr std::int64_t kExpertElements = 2 * kExperts * 3 * kHidden * kFfn;  // two layers
constexpr std::int64_t kDenseElements =
    2 * 1024 * kHidden + kHidden +
    2 * (2 * kHidden + kHidden * kHidden + kHidden * (kHidden + kHidden) + kExperts * kHidden);

std::int64_t parameters_of(const TrainingPlan& plan) {
  return live_at(plan, 0, "zero_grad", Category::parameter) / 2;
}

}  // namespace

TEST_CASE("experts: tokens by hand", "[workloads][ep]") {
  const Routing routing{.tokens = 10, .experts = 4, .top_k = 2};
  CHECK(dropless_counts(routing, {.ranks = 1}, {}) ==
        TokenCounts{.sent = 20, .received = {5, 5, 5, 5}});
  CHECK(dropless_counts(routing, {.ranks = 2}, {}) ==
        TokenCounts{.sent = 20, .received = {10, 10}});
  // 15 of each rank's 20 go to the first one: 8 and 7 to its experts.
  CHECK(dropless_counts(routing, {.ranks = 2}, {.busiest = 1.5}) ==
        TokenCounts{.sent = 20, .received = {16, 14}});
  CHECK(dropless_counts(routing, {.ranks = 2, .rank = 1}, {.busiest = 1.5}) ==
        TokenCounts{.sent = 20, .received = {4, 6}});
  CHECK(dropless_counts(routing, {.ranks = 2, .rank = 1}, {.shares = {0.5, 0.25, 0.25, 0}}) ==
        TokenCounts{.sent = 20, .received = {10, 0}});
  // Capacity ceil(20 / 4 * 1.25) = 7 from each of two ranks.
  CHECK(megatron::expert_capacity(routing, 1.25) == 7);
  CHECK(padded_counts(routing, {.ranks = 2}, 7) == TokenCounts{.sent = 28, .received = {14, 14}});
}

TEST_CASE("experts: what all ranks receive is what all have sent", "[workloads][ep]") {
  for (const int ranks : {1, 2, 4, 8}) {
    for (const std::int64_t tokens : {1, 7, 64, 1001}) {
      for (const double imbalance : {1.0, 1.3, 2.0}) {
        const Routing routing{.tokens = tokens, .experts = 8, .top_k = 2};
        std::int64_t received = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          received +=
              dropless_counts(routing, {.ranks = ranks, .rank = rank}, {.busiest = imbalance})
                  .all_received();
        }
        CHECK(received == ranks * tokens * 2);
      }
    }
  }
}

TEST_CASE("experts: ranks of a group hold each expert once", "[workloads][ep]") {
  CHECK(parameters_of(plan_of({.dp = 8})) == kDenseElements + kExpertElements);
  for (const int ep : {2, 4, 8}) {
    CHECK(parameters_of(plan_of({.dp = 8, .ep = ep})) == kDenseElements + kExpertElements / ep);
  }
}

// Numbers of a loss scale for each of two optimizers come on top.
TEST_CASE("experts: states are shared by the ranks with the same experts", "[workloads][ep]") {
  constexpr std::int64_t kScales = 8;
  TrainingPlan plan = plan_of({.dp = 8, .ep = 2});
  CHECK(states_of(plan) == 18 * (kDenseElements + kExpertElements / 2) + kScales);
  plan.parallel.dp_kind = DataParallel::zero1;
  // 6 + 12 / 8 of what all ranks have, 6 + 12 / 4 of half of the experts; nothing needs padding.
  CHECK(states_of(plan) ==
        6 * kDenseElements + 12 * kDenseElements / 8 + 9 * (kExpertElements / 2) + kScales);
}

TEST_CASE("experts: with context parallelism experts spread over its ranks, too",
          "[workloads][ep]") {
  const TrainingPlan plan = plan_of({.dp = 2, .cp = 2, .ep = 4});
  CHECK(plan_problems(plan).empty());
  CHECK(parameters_of(plan) == kDenseElements + kExpertElements / 4);
  CHECK(expert_group({.dp = 2, .cp = 2, .ep = 4, .rank = 3}) == GroupPlace{4, 3});
  CHECK(expert_data_group({.dp = 4, .tp = 2, .ep = 2, .rank = 6}) == GroupPlace{2, 1});
  // Of four ranks of two stages, tp 2 before dp 2, with an expert's matrices whole on each.
  CHECK(expert_group({.dp = 2, .tp = 2, .pp = 2, .ep = 4, .etp = 1, .rank = 7}) ==
        GroupPlace{4, 3});
  CHECK(expert_group({.dp = 2, .tp = 2, .ep = 2, .etp = 1, .rank = 3}) == GroupPlace{2, 1});
  CHECK(expert_data_group({.dp = 2, .tp = 2, .ep = 2, .etp = 1, .rank = 1}) == GroupPlace{2, 0});
  CHECK(expert_data_group({.dp = 2, .tp = 2, .ep = 2, .etp = 1, .rank = 2}) == GroupPlace{2, 1});
}

TEST_CASE("experts: by the shares in a file, ranks differ", "[workloads][ep]") {
  TrainingPlan plan = plan_of({.dp = 4, .ep = 4});
  plan.moe_load.shares = {3, 3, 1, 1, 1, 1, 4, 2};
  const auto classes = rank_classes(plan);
  REQUIRE(classes.size() == 3);
  CHECK(classes[0].what == "with part 0 of 4 of the experts");
  CHECK(classes[1].ranks == 2);
  CHECK(classes[2].share == 375'000);
}

// Rank 0 of the group has half as many tokens again, in the experts' inner layers above all.
TEST_CASE("experts: the busiest rank is apart and needs more", "[workloads][ep]") {
  TrainingPlan plan = plan_of({.dp = 4, .ep = 2});
  plan.moe_load.busiest = 1.5;
  const auto classes = rank_classes(plan);
  REQUIRE(classes.size() == 2);
  CHECK(classes[0].what == "with the busiest experts");
  CHECK(classes[0].ranks == 2);
  const auto kept = [&](int rank) {
    plan.parallel.rank = rank;
    return live_at(plan, 1, "backward") - live_at(plan, 1, "data");
  };
  const std::int64_t busy = kept(0);
  const std::int64_t idle = kept(1);
  // Two layers; 512 more rows: input, 2 f, f, and the numbers that they are weighted by.
  constexpr std::int64_t kRow = 2 * kHidden + 2 * 3 * kFfn + 4;
  CHECK(busy - idle == 2 * (1536 - 512) * kRow);
}

TEST_CASE("experts: steps repeat with and without a capacity", "[workloads][ep]") {
  for (const bool is_padded : {false, true}) {
    TrainingPlan plan = plan_of({.dp = 4, .tp = 2, .sequence_parallel = true, .cp = 2, .ep = 4});
    if (is_padded) {
      plan.parallel.megatron.moe_capacity_factor = 1.25;
    }
    plan.steps = 4;
    plan.grad_accum = 2;
    const Walk walk(generate(plan));
    CHECK(walk.steps[2] == walk.steps[3]);
  }
}

TEST_CASE("experts: what makes no sense is refused", "[workloads][ep]") {
  const auto problems = [](const Parallelism& parallel) {
    return plan_problems(plan_of(parallel)).size();
  };
  CHECK(problems({.dp = 4, .ep = 4}) == 0);
  CHECK(problems({.dp = 2, .ep = 4}) == 1);
  CHECK(problems({.dp = 3, .ep = 3}) == 1);  // eight experts
  CHECK(problems({.tp = 2}) == 1);           // without sequence parallelism
  CHECK(problems({.megatron = {.moe_capacity_factor = 1}}) == 0);
  TrainingPlan crowded = plan_of({.dp = 2, .ep = 2});
  crowded.moe_load.busiest = 3;
  CHECK(plan_problems(crowded).size() == 1);
  crowded.moe_load.busiest = 2;
  CHECK(plan_problems(crowded).empty());
  TrainingPlan dense = megatron_plan(small_llama(), {.megatron = {.moe_capacity_factor = 1}});
  CHECK(plan_problems(dense).size() == 1);
  TrainingPlan elsewhere = plan_of({.dp = 2, .ep = 2});
  elsewhere.framework = Framework::torch;
  elsewhere.model_code = ModelCode::hf;
  CHECK_FALSE(generator_gaps(elsewhere).empty());
}

TEST_CASE("mixtures and long sequences: random jobs end with nothing but states",
          "[workloads][ep][cp]") {
  std::mt19937 random(11);
  const auto one_of = [&](std::initializer_list<int> choices) {
    std::uniform_int_distribution<std::size_t> index(0, choices.size() - 1);
    return *(choices.begin() + index(random));
  };
  int ran = 0;
  for (int round = 0; round < 40; ++round) {
    Parallelism p{.dp = one_of({1, 2, 4}), .tp = one_of({1, 2}), .cp = one_of({1, 2, 4})};
    p.sequence_parallel = p.tp > 1;
    p.ep = one_of({1, 2, 4});
    p.dp_kind = one_of({0, 1}) == 0 ? DataParallel::ddp : DataParallel::zero1;
    p.rank = std::uniform_int_distribution<int>(0, p.gpus() - 1)(random);
    p.megatron.overlap_grad_reduce = one_of({0, 1}) == 1;
    if (p.cp > 1 && kKvHeads % (p.tp * p.cp) == 0 && one_of({0, 1}) == 1) {
      p.cp_kind = ContextParallel::ulysses;
    }
    if (one_of({0, 1}) == 1) {
      p.megatron.moe_capacity_factor = one_of({1, 2});
    }
    TrainingPlan plan = plan_of(p);
    plan.checkpoint.kind = one_of({0, 1}) == 1 ? CheckpointKind::full : CheckpointKind::none;
    if (!plan_problems(plan).empty()) {
      continue;
    }
    ++ran;
    const Walk walk(generate(plan));
    CAPTURE(round, p.dp, p.tp, p.cp, p.ep, p.rank);
    CHECK(walk.steps[1] == walk.steps[2]);
    CHECK(walk.live < walk.peak);
  }
  CHECK(ran > 15);
}
