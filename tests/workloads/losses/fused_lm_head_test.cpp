// TRL's fused head: the blocks of its tiles and gradients by hand, from chunked_logprob.py of TRL
// 1.16. Tiles have 4096 tokens and 32768 words; the last token of a sequence predicts nothing.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/tiny_llama.hpp"
#include "tests/support/trace_blocks.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using namespace highwater::distributed_runs;

namespace {

constexpr std::int64_t kVocab = 40000;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kTokens = 2 * 63;
constexpr std::int64_t kTile = 32768;

TrainingPlan tuned() {
  TrainingPlan plan = test::tiny_llama_plan(kVocab);
  plan.loss.kind = LossKind::trl;
  return plan;
}

std::int64_t count(const TrainingPlan& plan, std::int64_t bytes) {
  const auto blocks = blocks_of(plan);
  return std::ranges::count_if(blocks, [bytes](const TraceBlock& block) {
    return block.born_in == 2 && block.bytes == bytes;
  });
}

}  // namespace

TEST_CASE("TRL's loss makes a tile where others make logits") {
  const TrainingPlan plan = tuned();
  CHECK(count(plan, 2 * kTokens * kTile) == 2);   // mm_buf of forward and backward
  CHECK(count(plan, 4 * kVocab * kWidth) == 1);   // the head's gradient in fp32
  CHECK(count(plan, 4 * 2 * 64 * kVocab) == 0);   // logits in fp32
  CHECK(count(plan, 4 * kTokens * kWidth) == 1);  // the hidden states' gradient in fp32
}

TEST_CASE("TRL's loss of more tokens than a tile has keeps one buffer") {
  TrainingPlan plan = tuned();
  plan.batch = 70;
  CHECK(count(plan, std::int64_t{2} * 4096 * kTile) == 2);
}

TEST_CASE("TRL's loss without logits refuses to keep them") {
  TrainingPlan plan = tuned();
  CHECK(plan_problems(plan).empty());
  plan.keep_logits = true;
  CHECK(plan_problems(plan).size() == 1);
}
