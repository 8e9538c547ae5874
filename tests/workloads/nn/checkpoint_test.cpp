// Selective checkpointing against recordings, and the bytes it must keep and give up.
#include <catch2/catch.hpp>

#include "tests/workloads/recorded/recorded_digest.hpp"
#include "workloads/eager/output_cache.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

TrainingPlan checkpointed(TrainingPlan plan, CheckpointKind kind) {
  plan.checkpoint.kind = kind;
  return plan;
}

// What is live when forward ends and backward begins.
std::uint64_t bytes_after_forward(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::unordered_map<std::uint64_t, std::uint64_t> live;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::alloc) {
      live[event.allocation.value()] = event.value;
      sum += event.value;
    } else if (event.kind == EventKind::free) {
      sum -= live.at(event.allocation.value());
    } else if (event.kind == EventKind::phase && trace.tables.strings[event.text()] == "backward") {
      return sum;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("outputs of matrix products and attention are kept as recorded", "[checkpoint]") {
  CHECK(digest_of(checkpointed(small_gpt2(), CheckpointKind::selective_op)) ==
        RunDigest{1053, 0x7ebe88068469209b, 20228356, 19685128});
  // The recording hands rotary tables to checkpoint() by keyword, which frees them in another
  // order.
  const RunDigest llama = digest_of(checkpointed(small_llama(), CheckpointKind::selective_op));
  CHECK(llama.requests == 1494);
  CHECK(llama.forward_peak == 21620124);
  CHECK(llama.backward_peak == 21747080);
}

TEST_CASE("the core attention alone is recomputed as recorded", "[checkpoint]") {
  TrainingPlan plan = checkpointed(small_gpt2(), CheckpointKind::selective_attention);
  plan.attention = Attention::eager;
  CHECK(digest_of(plan) == RunDigest{1117, 0x97e2efd5e33a06ea, 20741380, 20040456});
}

TEST_CASE("selective checkpointing keeps more than full and less than none", "[checkpoint]") {
  for (TrainingPlan plan : {small_gpt2(), small_llama()}) {
    plan.seq = {64};
    const auto none = bytes_after_forward(plan);
    const auto op = bytes_after_forward(checkpointed(plan, CheckpointKind::selective_op));
    const auto full = bytes_after_forward(checkpointed(plan, CheckpointKind::full));
    CHECK(full < op);
    CHECK(op < none);
  }
}

TEST_CASE("selective by operator keeps every matmul's output", "[checkpoint]") {
  // Per layer of LLaMA in bf16: q, k, v, attention, o and down of the hidden size, gate and up of
  // the intermediate size, and the attention's row sums in fp32.
  const TrainingPlan plan = small_llama();
  const std::uint64_t tokens = 2 * 32;
  const std::uint64_t kept = 2 * (tokens * 2 * (6 * 128 + 2 * 256) + tokens * 4 * 4);
  CHECK(bytes_after_forward(checkpointed(plan, CheckpointKind::selective_op)) -
            bytes_after_forward(checkpointed(plan, CheckpointKind::full)) ==
        kept);
}

TEST_CASE("without eager attention's scores the core attention saves memory", "[checkpoint]") {
  TrainingPlan plan = small_gpt2();
  plan.attention = Attention::eager;
  plan.seq = {64};
  CHECK(bytes_after_forward(checkpointed(plan, CheckpointKind::selective_attention)) <
        bytes_after_forward(plan));
}

// Counted from the first on, in forward and again in the recomputation; other operators do not
// count.
TEST_CASE("checkpoint: torchtitan keeps every second product", "[workloads][checkpoint]") {
  eager::OutputCache cache(eager::KeptProducts::every_second);
  CHECK(cache.keeps("mm"));
  CHECK(cache.keeps("_scaled_dot_product_flash_attention"));
  CHECK_FALSE(cache.keeps("mm"));
  CHECK(cache.keeps("mm"));
  cache.replay();
  CHECK(cache.keeps("mm"));
  CHECK_FALSE(cache.keeps("mm"));
}
