// Megatron-Core's Muon: what it keeps, and how its layer-wise distributed optimizer shares out
// matrices. Sizes are worked out by hand from emerging_optimizers.py and layer_wise_optimizer.py of
// Megatron-Core 0.19.2.
#include <algorithm>
#include <array>

#include <catch2/catch.hpp>

#include "tests/support/plan_words.hpp"
#include "tests/workloads/megatron/megatron_plans.hpp"
#include "workloads/megatron/data_parallel/param_and_grad_buffer.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using namespace highwater::megatron;
using namespace highwater::testing;

namespace {

TrainingPlan plan_of(OptimizerKind kind, int dp, DataParallel dp_kind) {
  TrainingPlan plan = megatron_plan(small_llama());
  plan.parallel.dp = dp;
  plan.parallel.dp_kind = dp_kind;
  plan.optimizer.kind = kind;
  return plan;
}

// linear_qkv, linear_proj, linear_fc1 (gate and up) and linear_fc2 of two layers.
constexpr std::int64_t kMatrices = 2 * (kHidden * (kHidden + 2 * kHidden * kKvHeads / kHeads) +
                                        kHidden * kHidden + 2 * kFfn * kHidden + kFfn * kHidden);

}  // namespace

TEST_CASE("megatron muon: matrices have one state, all else Adam's two", "[megatron]") {
  const auto adam = states_of(plan_of(OptimizerKind::adamw, 2, DataParallel::ddp));
  const auto muon = states_of(plan_of(OptimizerKind::muon, 2, DataParallel::ddp));
  constexpr std::int64_t kSecondScale = 4;  // each optimizer of a chain has a number on the GPU
  CHECK(adam - muon == 4 * kMatrices - kSecondScale);
}

TEST_CASE("megatron muon: parameters are packed whole, the largest first", "[megatron]") {
  const BufferRules rules{
      .ranks = 2, .is_distributed = true, .bucket_size = {}, .shards = Shards::parameters};
  const std::array<std::int64_t, 4> sizes{100, 300, 200, 64};
  const BufferLayout layout = layout_buffer(sizes, rules);
  // 300 and 64 on the first rank, 200 and 100 on the second, each at a multiple of 64.
  CHECK(layout.params == std::vector<Range>{{640, 740}, {0, 300}, {384, 584}, {320, 384}});
  CHECK(layout.buckets == std::vector<Range>{{0, 768}});
  CHECK(owned_part(layout, 1, {.ranks = 2, .rank = 0}) == Range{0, 300});
  CHECK_FALSE(owned_part(layout, 1, {.ranks = 2, .rank = 1}).has_value());
}

TEST_CASE("megatron muon: a bucket waits for as much as its largest parameter wants",
          "[megatron]") {
  const BufferRules rules{
      .ranks = 2, .is_distributed = true, .bucket_size = 100, .shards = Shards::parameters};
  const std::array<std::int64_t, 4> sizes{64, 64, 128, 128};
  // 128 is a bucket's size, but two ranks with 128 each want 230 before one is closed.
  const BufferLayout layout = layout_buffer(sizes, rules);
  CHECK(layout.buckets == std::vector<Range>{{0, 256}, {256, 384}});
}

TEST_CASE("megatron muon: the layer-wise optimizer keeps the states of its own matrices",
          "[megatron]") {
  // Two equal layers of four matrices: fp32 copies and momentum of one layer's worth on each rank.
  const auto states = [](int dp) {
    const auto plan = plan_of(OptimizerKind::muon, dp, DataParallel::zero1);
    return live_at(plan, static_cast<std::uint64_t>(plan.steps), "none", Category::optimizer_state);
  };
  CHECK(states(1) - states(2) >= 8 * kMatrices / 2);
}

// The default tp mode gathers on one rank as well: two more fp32 copies of linear_fc1's momentum,
// 4 bytes a value, and the block into which NCCL gathers before PyTorch 2.15.
TEST_CASE("megatron muon: what a step makes beside the states depends on the tp mode",
          "[megatron]") {
  const auto most = [](MuonTp mode, int tp) {
    TrainingPlan plan = plan_of(OptimizerKind::muon, 1, DataParallel::ddp);
    plan.parallel.tp = tp;
    plan.parallel.tp_kind = TensorParallel::megatron;
    plan.parallel.megatron.muon_tp = mode;
    return Walk(generate(plan)).steps.back();
  };
  const auto count = [](const std::vector<std::int64_t>& requests, std::int64_t bytes) {
    return std::ranges::count(requests, bytes);
  };
  constexpr std::int64_t kWhole = 4 * 2 * kFfn * kHidden;  // linear_fc1
  const auto blockwise = most(MuonTp::blockwise, 1);
  // The one rank's part, the whole and NCCL's block, for each of two layers.
  CHECK(count(most(MuonTp::duplicated, 1), kWhole) - count(blockwise, kWhole) == 6);
  // Two ranks: of the whole, what NCCL, cat, normalize and the last cast make, in each layer.
  CHECK(count(most(MuonTp::duplicated, 2), kWhole) - count(most(MuonTp::distributed, 2), kWhole) ==
        8);
}

// train_megatron.py model=llama flash=1 recompute=1 fused=1 optimizer=muon [sharded=1] of
// tools/python/frameworks/users under PyTorch 2.15.
TEST_CASE("megatron muon: peaks are those of recordings", "[megatron]") {
  const auto peak = [](const std::string& more) {
    TrainingPlan plan = test::plan_of_words(
        "framework=megatron torch=2.15 batch=2 seq=1024 checkpoint=full optimizer=muon "
        "transformer-impl=local vocab-divisor=1 wgrad-fusion=false rope-fusion=false gpu=h100-80 "
        "grad-clip=1 steps=3 " +
        more);
    plan.model = {"llama", "test",
                  LlamaConfig{.vocab_size = 50304,
                              .hidden_size = 1024,
                              .intermediate_size = 2816,
                              .num_hidden_layers = 12,
                              .num_attention_heads = 16,
                              .num_key_value_heads = 8}};
    return peak_of(plan);
  };
  CHECK(peak("") == 4513935500);
  CHECK(peak("dp=2 dp-kind=zero1 rank=0") == 3329415308);
  CHECK(peak("dp=2 dp-kind=zero1 rank=1") == 3329415308);
}
