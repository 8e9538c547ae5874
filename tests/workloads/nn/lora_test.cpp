// LoRA against recordings of PEFT, and what adapters must change and leave alone.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/workloads/recorded/recorded_digest.hpp"
#include "traces/error.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/parameters.hpp"

using namespace highwater;

namespace {

TrainingPlan with_lora(TrainingPlan plan, Lora lora) {
  plan.lora = std::move(lora);
  return plan;
}

std::uint64_t bytes_of(const TrainingPlan& plan, Category category) {
  const RequestTrace trace = generate(plan);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::step && event.value == 1) {
      break;
    }
    if (event.kind == EventKind::alloc && event.category == category) {
      sum += event.value;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("runs with adapters make the recorded requests", "[lora]") {
  CHECK(digest_of(with_lora(small_gpt2(), {.rank = 4})) ==
        RunDigest{697, 0xb34c9397c99acd3d, 19552004, 18768904});
  CHECK(digest_of(with_lora(small_llama(), {.rank = 8, .dropout = 0.1})) ==
        RunDigest{1248, 0x3b25d72103fa0bbb, 19586460, 19697032});
}

TEST_CASE("adapters alone are trained", "[lora]") {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset("llama-2-7b");
  CHECK(trainable_elements(plan) == parameter_count(plan.model.config).trainable());
  plan.lora.rank = 16;
  // q_proj and v_proj of 32 layers: A [16, 4096] and B [4096, 16] each.
  CHECK(trainable_elements(plan) == 32 * 2 * 2 * 16 * 4096);
}

TEST_CASE("a checkpointed frozen model has an embedding with gradient", "[lora]") {
  TrainingPlan plan = with_lora(small_llama(), {.rank = 8});
  plan.checkpoint = {CheckpointKind::full, 1, true};
  CHECK(digest_of(plan) == RunDigest{1731, 0x79d5ed0bf4823fa1, 19072156, 19145608});
}

TEST_CASE("without adapters nothing changes", "[lora]") {
  const RunDigest recorded{1262, 0x2bbe3c68a3763533, 21915804, 22042760};
  CHECK(digest_of(small_llama()) == recorded);
  CHECK(digest_of(with_lora(small_llama(), {.rank = 0})) == recorded);
}

TEST_CASE("only adapters have gradients and optimizer states", "[lora]") {
  // Two layers, q_proj and v_proj, A [8, 128] and B [128, 8] in fp32.
  constexpr std::uint64_t kAdapters = 2 * 2 * 2 * 8 * 128 * 4;
  const TrainingPlan plan = with_lora(small_llama(), {.rank = 8});
  CHECK(bytes_of(plan, Category::gradient) == kAdapters);
  CHECK(bytes_of(plan, Category::optimizer_state) == 2 * kAdapters);
}

TEST_CASE("adapters grow with the rank and the targets", "[lora]") {
  const auto gradients = [](int rank, std::vector<std::string> targets) {
    return bytes_of(with_lora(small_llama(), {.rank = rank, .targets = std::move(targets)}),
                    Category::gradient);
  };
  CHECK(gradients(16, {}) == 2 * gradients(8, {}));
  CHECK(gradients(8, {"q_proj"}) * 2 == gradients(8, {}));
  // Seven linear layers of a block; lm_head is left out.
  CHECK(gradients(8, {"all-linear"}) == std::uint64_t{2} * 8 * 4 * (4 * 256 + 3 * 384));
}

TEST_CASE("default targets are PEFT's", "[lora]") {
  TrainingPlan plan = small_gpt2();
  CHECK(lora_targets(plan) == std::vector<std::string>{"c_attn"});
  plan = small_llama();
  CHECK(lora_targets(plan) == std::vector<std::string>{"q_proj", "v_proj"});
  plan.model_code = ModelCode::torchtitan;
  CHECK(lora_targets(plan).empty());
  plan.lora.targets = {"wq"};
  CHECK(lora_targets(plan) == std::vector<std::string>{"wq"});
}

TEST_CASE("targets that fit nothing or no linear layer are refused", "[lora]") {
  CHECK_THROWS_AS(generate(with_lora(small_llama(), {.rank = 8, .targets = {"c_attn"}})),
                  InputError);
  CHECK_THROWS_AS(generate(with_lora(small_llama(), {.rank = 8, .targets = {"embed_tokens"}})),
                  InputError);
}
