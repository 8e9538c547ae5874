// deepspeed.zero.Init(): a model that is never whole.
#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/trace_blocks.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using namespace highwater::distributed_runs;

namespace {

TrainingPlan partitioned_as_made() {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = small_gpt2();
  plan.batch = 2;
  plan.seq = {64};
  plan.precision = Precision::bf16;
  plan.framework = Framework::deepspeed;
  plan.parallel.dp = 4;
  plan.parallel.dp_kind = DataParallel::zero3;
  plan.parallel.zero.init = true;
  plan.versions.deepspeed = "0.16";
  return plan;
}

// Bytes of parameters that live at once before the first step, at most.
std::int64_t most_parameters(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::vector<std::int64_t> sizes;
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::step) {
      break;
    }
    if (event.kind == EventKind::alloc) {
      const bool counts = event.category == Category::parameter;
      sizes.push_back(counts ? static_cast<std::int64_t>(event.value) : 0);
      live += sizes.back();
    } else if (event.kind == EventKind::free) {
      live -= sizes[event.allocation.index()];
    }
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

TEST_CASE("zero.Init: a module's parameters go as soon as their parts exist", "[workloads][zero]") {
  const auto blocks = blocks_of(partitioned_as_made());
  REQUIRE(blocks.size() > 8);
  // The table of 512 x 128 in bf16, then a quarter of it, then the positions of 256 x 128.
  CHECK(blocks[0].bytes == 131072);
  CHECK(blocks[0].is_freed);
  CHECK(blocks[0].freed_in == 0);
  CHECK(blocks[1].bytes == 32768);
  CHECK(blocks[2].bytes == 65536);
  CHECK(blocks[3].bytes == 16384);
  // A norm: both parameters first, then both parts.
  CHECK(blocks[4].bytes == 256);
  CHECK(blocks[5].bytes == 256);
  CHECK(blocks[6].bytes == 64);
  CHECK(blocks[7].bytes == 64);
}

TEST_CASE("zero.Init: no more than one module is whole", "[workloads][zero]") {
  TrainingPlan plan = partitioned_as_made();
  // All parts, those of the head before it is tied, and the head itself, in bf16.
  constexpr std::int64_t kParameters = 2 * 198272 + 256 + 256 * 128 + 512 * 128;
  CHECK(most_parameters(plan) == (kParameters + 512 * 128) / 4 * 2 + 512 * 128 * 2);
  plan.parallel.zero.init = false;
  CHECK(most_parameters(plan) >= kParameters * 2);
}

TEST_CASE("zero.Init: states of the steps are those of a model that was whole before",
          "[workloads][zero]") {
  TrainingPlan plan = partitioned_as_made();
  const auto kept = [](const TrainingPlan& of) {
    std::vector<std::int64_t> bytes;
    for (const TraceBlock& block : blocks_of(of)) {
      if (!block.is_freed && block.category == Category::optimizer_state) {
        bytes.push_back(block.bytes);
      }
    }
    return bytes;
  };
  const auto as_made = kept(plan);
  plan.parallel.zero.init = false;
  CHECK(as_made == kept(plan));
}

TEST_CASE("zero.Init: what makes no sense is refused", "[workloads][zero]") {
  TrainingPlan plan = partitioned_as_made();
  CHECK(plan_problems(plan).empty());
  plan.init = ModelInit::cpu;
  CHECK(plan_problems(plan).size() == 1);
  plan.init = ModelInit::device;
  plan.parallel.dp_kind = DataParallel::zero2;
  CHECK(plan_problems(plan).size() == 1);
}

// What get_decay_parameter_names() keeps apart by name is one-dimensional for both groups by then.
TEST_CASE("zero.Init: norms and biases are a group of their own", "[workloads][zero]") {
  TrainingPlan plan = partitioned_as_made();
  plan.optimizer.param_groups = 2;
  plan.parallel.zero.init = false;
  const auto whole = blocks_of(plan);
  plan.parallel.zero.init = true;
  const auto partitioned = blocks_of(plan);
  const auto masters = [](const auto& blocks) {
    std::vector<std::int64_t> sizes;
    for (const auto& block : blocks) {
      if (block.category == Category::optimizer_state) {
        sizes.push_back(static_cast<std::int64_t>(block.bytes));
      }
    }
    return sizes;
  };
  REQUIRE_FALSE(masters(whole).empty());
  CHECK(masters(partitioned) == masters(whole));
}
