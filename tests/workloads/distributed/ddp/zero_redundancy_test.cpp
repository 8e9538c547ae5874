// ZeroRedundancyOptimizer: which rank steps what, and what its optimizer then holds; recorded peaks
// are in tools/docs/strategies/ddp.md.
#include "workloads/distributed/ddp/zero_redundancy.hpp"

#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/trace_blocks.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using namespace highwater::distributed_runs;
using Catch::Matchers::Contains;

namespace {

// small_gpt2: two blocks of 198272 parameters, a norm of 256, positions 256 x 128, a tied table of
// 512 x 128.
constexpr std::int64_t kSpreadParameters = 2 * 198272 + 256 + 256 * 128 + 512 * 128;

TrainingPlan spread(ZeroRedundancyKind kind, int rank) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = small_gpt2();
  plan.batch = 2;
  plan.seq = {64};
  plan.parallel.dp = 2;
  plan.parallel.rank = rank;
  plan.parallel.ddp.zero_redundancy = kind;
  return plan;
}

std::int64_t bytes_kept(const TrainingPlan& plan, Category category) {
  std::int64_t bytes = 0;
  for (const TraceBlock& block : blocks_of(plan)) {
    bytes += block.category == category && !block.is_freed ? block.bytes : 0;
  }
  return bytes;
}

std::vector<std::int64_t> parameters_kept(const TrainingPlan& plan) {
  std::vector<std::int64_t> bytes;
  for (const TraceBlock& block : blocks_of(plan)) {
    if (block.category == Category::parameter && !block.is_freed) {
      bytes.push_back(block.bytes);
    }
  }
  return bytes;
}

}  // namespace

// By hand: 8, 8 to ranks 0 and 1; 5 to 0 (13); 3 and 1 to 1 (12). The next group goes on from
// there.
TEST_CASE("zero redundancy: the largest first, to the rank that has least", "[workloads][ddp]") {
  using Indices = std::vector<std::size_t>;
  const auto parts = dist::parts_of_ranks({{5, 8, 8, 3, 1}, {2, 4}}, 2);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0] == std::vector{Indices{1, 0}, Indices{0}});
  CHECK(parts[1] == std::vector{Indices{2, 3, 4}, Indices{1}});
}

TEST_CASE("zero redundancy: two moments of this rank's parameters alone", "[workloads][ddp]") {
  const auto states = [](ZeroRedundancyKind kind, int rank) {
    return bytes_kept(spread(kind, rank), Category::optimizer_state);
  };
  const std::int64_t first = states(ZeroRedundancyKind::parameters, 0);
  const std::int64_t second = states(ZeroRedundancyKind::parameters, 1);
  CHECK(first + second == 8 * kSpreadParameters);
  CHECK(first < 5 * kSpreadParameters);
  CHECK(second < 5 * kSpreadParameters);
  CHECK(states(ZeroRedundancyKind::none, 0) == 8 * kSpreadParameters);
}

TEST_CASE("zero redundancy: buckets are a block of parameters for each rank", "[workloads][ddp]") {
  const auto blocks = parameters_kept(spread(ZeroRedundancyKind::buckets, 0));
  REQUIRE(blocks.size() == 2);
  CHECK(std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}) == 4 * kSpreadParameters);
  CHECK(parameters_kept(spread(ZeroRedundancyKind::parameters, 0)).size() > 2);
}

TEST_CASE("zero redundancy: what it is not simulated with is refused", "[workloads][ddp]") {
  const auto refusal = [](auto change) {
    TrainingPlan plan = spread(ZeroRedundancyKind::parameters, 0);
    change(plan);
    const auto problems = plan_problems(plan);
    REQUIRE_FALSE(problems.empty());
    return problems.front();
  };
  CHECK(plan_problems(spread(ZeroRedundancyKind::buckets, 0)).empty());
  CHECK_THAT(refusal([](TrainingPlan& plan) { plan.optimizer.kind = OptimizerKind::lion; }),
             Contains("zero-redundancy with optimizer lion"));
  CHECK_THAT(refusal([](TrainingPlan& plan) {
               plan.precision = Precision::bf16;
               plan.optimizer.master_weights = true;
             }),
             Contains("zero-redundancy with master-weights"));
  CHECK_THAT(refusal([](TrainingPlan& plan) { plan.parallel.dp = 1; }),
             Contains("zero-redundancy: only DistributedDataParallel has this"));
}
