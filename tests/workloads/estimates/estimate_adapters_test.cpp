// How plans become the arguments of closed forms: values worked out by hand from the plan's own
// numbers, and the assumptions that a plan breaks.
#include <algorithm>
#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "workloads/estimates/evaluate.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

using Change = std::function<void(TrainingPlan&)>;

constexpr double kS = 512;
constexpr double kB = 2;
constexpr double kGpt2 = 124439808;  // parameters

/// 16-bit training with fp32 copies, two sequences of 512 tokens.
TrainingPlan plan_of(std::string_view model, const Change& change) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset(model);
  plan.batch = static_cast<std::int64_t>(kB);
  plan.seq = {static_cast<std::int64_t>(kS)};
  plan.precision = Precision::bf16;
  plan.optimizer.master_weights = true;
  change(plan);
  REQUIRE(plan_problems(plan).empty());
  return plan;
}

FormulaOutcome outcome_of(std::string_view form, std::string_view model, const Change& change) {
  return evaluate(*find_formula(form), estimate_inputs(plan_of(model, change)));
}

double bytes_of(std::string_view form, std::string_view model, const Change& change) {
  return outcome_of(form, model, change).estimate.bytes();
}

bool breaks(std::string_view form, std::string_view model, const Change& change,
            std::string_view sentence) {
  return std::ranges::any_of(
      outcome_of(form, model, change).broken,
      [sentence](const std::string& said) { return said.find(sentence) != std::string::npos; });
}

void nothing(TrainingPlan& /*plan*/) {}

// Parameters of a Megatron rank: GPT-2, vocabulary padded from 50257 to 50304.
constexpr double kGpt2Block = 12 * (2.0 * 768 * 3072 + 4.0 * 768 * 768 + 2 * 2 * 768) + 2 * 768;
constexpr double kGpt2Shard = kGpt2Block + 768.0 * 50304;

}  // namespace

TEST_CASE("adapters: Megatron's states and activations of one GPU", "[workloads][estimates]") {
  const double sb = kS * kB;
  const double activations =
      1.05 * (sb * 768 * 34 * 12 + 8 * sb + sb * 768 + 2 * sb * (768 + 50304));
  CHECK(bytes_of("megatron", "gpt2", nothing) == Approx(18 * kGpt2Shard + activations));
  const auto shared = [](TrainingPlan& plan) {
    plan.parallel.dp = 4;
    plan.parallel.dp_kind = DataParallel::zero1;
  };
  CHECK(bytes_of("megatron", "gpt2", shared) == Approx((6 + 12.0 / 4) * kGpt2Shard + activations));
}

TEST_CASE("adapters: Megatron's shards, grouped queries and micro-batches in flight",
          "[workloads][estimates]") {
  const auto job = [](TrainingPlan& plan) {
    plan.parallel.tp = 8;
    plan.parallel.sequence_parallel = true;
    plan.parallel.pp = 4;
    plan.grad_accum = 2;
  };
  // Llama 3 8B: a gated MLP of 14336, 8 of 32 key-value heads, an untied head on another stage.
  const double h = 4096;
  const double layer = 3 * h * 14336 + 2 * h * h * (1 + 8.0 / 32) + 2 * h;
  const double shard = ((32 * layer + h) / 4 + h * 129024) / 8;
  const double sb = kS * kB;
  const double activations =
      0.5 / 8 * (sb * h * (18 + 4 * 14336 / h) * 32 + 8 * sb * 4 + sb * h * 4);
  CHECK(bytes_of("megatron", "llama-3-8b", job) == Approx(18 * shard + activations));
  // Qwen3 0.6B: heads of 128 make twice the width of 1024.
  const double qwen = 3.0 * 1024 * 3072 + 2.0 * 1024 * 1024 * (1 + 8.0 / 16) * 2 + 2 * 1024;
  const double qwen_shard = 28 * qwen + 1024 + 1024.0 * 151936;
  const auto states = outcome_of("megatron", "qwen3-0.6b", nothing).estimate.terms;
  CHECK(states[0].bytes + states[1].bytes + states[2].bytes == Approx(18 * qwen_shard));
}

TEST_CASE("adapters: Korthikanti's variants by checkpointing, ranks and schedule",
          "[workloads][estimates]") {
  const double sbh = kS * kB * 768;
  const double scores = 5.0 * 12 * kS * kS * kB;
  const double outside = 4 * sbh + 4 * kS * kB * 50257;
  const auto eager = [](TrainingPlan& plan) { plan.attention = Attention::eager; };
  CHECK(bytes_of("korthikanti", "gpt2", eager) == Approx(12 * (34 * sbh + scores) + sbh + outside));
  const auto full = [](TrainingPlan& plan) { plan.checkpoint.kind = CheckpointKind::full; };
  CHECK(bytes_of("korthikanti", "gpt2", full) == Approx(12 * 2 * sbh + sbh + outside));
  const auto split = [](bool along_sequence) {
    return [along_sequence](TrainingPlan& plan) {
      plan.checkpoint.kind = CheckpointKind::selective_attention;
      plan.parallel.tp = 2;
      plan.parallel.sequence_parallel = along_sequence;
    };
  };
  CHECK(bytes_of("korthikanti", "gpt2", split(false)) ==
        Approx(12 * sbh * (10 + 24.0 / 2) + (sbh + outside) / 2));
  CHECK(bytes_of("korthikanti", "gpt2", split(true)) ==
        Approx(12 * sbh * 34 / 2 + (sbh + outside) / 2));
  const auto interleaved = [](TrainingPlan& plan) {
    plan.checkpoint.kind = CheckpointKind::full;
    plan.parallel.pp = 2;
    plan.parallel.schedule = PipelineSchedule::interleaved;
    plan.parallel.chunks = 3;
    plan.grad_accum = 2;
  };
  CHECK(bytes_of("korthikanti", "gpt2", interleaved) ==
        Approx(12 * (1 + 1.0 / 6) * 2 * sbh + 2 * sbh));
}

TEST_CASE("adapters: DeepSpeed's job, pinned memory and activations", "[workloads][estimates]") {
  const auto zero3 = [](TrainingPlan& plan) {
    plan.parallel.dp = 12;
    plan.parallel.dp_kind = DataParallel::zero3;
  };
  const double largest = 50257.0 * 768;
  CHECK(bytes_of("deepspeed-zero3", "gpt2", zero3) ==
        Approx(4 * largest + std::floor(18 * kGpt2 / 12)));
  const auto pinned = [](int micro_batches) {
    return outcome_of("deepspeed-zero3", "gpt2",
                      [=](TrainingPlan& plan) { plan.grad_accum = micro_batches; })
        .variants.front()
        .pinned_bytes;
  };
  CHECK(pinned(1) == 6 * kGpt2);
  CHECK(pinned(2) == 8 * kGpt2);
  CHECK(bytes_of("deepspeed-activations", "gpt2", nothing) ==
        Approx(12 * (2 * kS * 12 + 16 * 768) * kS * kB));
}

TEST_CASE("adapters: NeMo's full storage is for one GPU that keeps its scores",
          "[workloads][estimates]") {
  const double sbh = kS * kB * 2048;
  const double logits = 8 * kS * kB * 50257;
  const double p = 1410867200;
  const auto eager = [](TrainingPlan& plan) { plan.attention = Attention::eager; };
  CHECK(bytes_of("nemo-printed", "nemo-gpt-1b", eager) ==
        Approx(14 * p + 24 * (38.25 * sbh + 5.0 * 16 * kS * kS * kB) + 5 * sbh + logits));
  const auto two = [](TrainingPlan& plan) {
    plan.attention = Attention::eager;
    plan.parallel.tp = 2;
  };
  CHECK(bytes_of("nemo-printed", "nemo-gpt-1b", two) ==
        Approx(7 * p + sbh * 24 * (10 + 28.25 / 2) + 2 * sbh + 1.5 * sbh + logits / 2 +
               kS * kB * 50257));
}

TEST_CASE("adapters: a broken assumption is said, a kept one is not", "[workloads][estimates]") {
  struct Row {
    std::string_view form;
    std::string_view sentence;
    std::string_view model;
    Change breaking;
    std::string_view kept_model;
    Change keeping;
  };

  const Change chunked = [](TrainingPlan& plan) { plan.loss.kind = LossKind::chunked; };
  const Change in_backward = [](TrainingPlan& plan) {
    plan.optimizer.in_backward = true;
    plan.optimizer.master_weights = false;
  };
  const Change four_stages = [](TrainingPlan& plan) { plan.parallel.pp = 4; };
  const Change four_stages_fed = [](TrainingPlan& plan) {
    plan.parallel.pp = 4;
    plan.grad_accum = 4;
  };
  const Change offloaded = [](TrainingPlan& plan) { plan.parallel.offload = Offload::optimizer; };
  const Change experts = [](TrainingPlan& plan) {
    plan.parallel.dp = 8;
    plan.parallel.ep = 8;
  };
  const Change eager = [](TrainingPlan& plan) { plan.attention = Attention::eager; };
  const Change cast = [](TrainingPlan& plan) {
    plan.training = false;
    plan.optimizer = {.kind = OptimizerKind::none};
    plan.precision = Precision::amp_bf16;
  };
  const Change half = [](TrainingPlan& plan) {
    plan.training = false;
    plan.optimizer = {.kind = OptimizerKind::none};
  };
  const Change lora = [](TrainingPlan& plan) { plan.lora.rank = 8; };
  const std::vector<Row> rows{
      {"korthikanti", "logits of the whole batch", "gpt2", chunked, "gpt2", nothing},
      {"megatron", "logits of the whole batch", "gpt2", chunked, "gpt2", nothing},
      {"nemo-table", "logits of the whole batch", "gpt2", chunked, "gpt2", nothing},
      {"llmem", "logits of the whole batch", "gpt2", chunked, "gpt2", nothing},
      {"4n", "gradients live at the same time", "gpt2", in_backward, "gpt2", nothing},
      {"zero-paper", "gradients live at the same time", "gpt2", in_backward, "gpt2", nothing},
      {"deepspeed-zero2", "gradients live at the same time", "gpt2", in_backward, "gpt2", nothing},
      {"llmem", "gradients live at the same time", "gpt2", in_backward, "gpt2", nothing},
      {"korthikanti", "as many micro-batches as stages", "gpt2", four_stages, "gpt2",
       four_stages_fed},
      {"zero-paper", "does not cover offloading", "gpt2", offloaded, "gpt2", nothing},
      {"4n", "does not cover offloading", "gpt2", offloaded, "gpt2", nothing},
      {"zero-paper", "only data parallelism", "mixtral-8x7b", experts, "mixtral-8x7b", nothing},
      {"deepspeed-zero3", "also splits the model", "mixtral-8x7b", experts, "mixtral-8x7b",
       nothing},
      {"korthikanti", "dropout on the attention scores", "opt-1.3b", eager, "gpt2", eager},
      {"korthikanti", "dropout in every layer", "llama-160m", nothing, "biogpt", nothing},
      {"korthikanti", "the heads together are as wide as the hidden size", "gemma-7b", nothing,
       "gpt2", nothing},
      {"korthikanti", "all layers are trained", "gpt2", lora, "gpt2", nothing},
      {"megatron", "embedding as wide as the layers", "opt-350m", nothing, "opt-1.3b", nothing},
      {"megatron", "key-value heads", "llama-3-8b", nothing, "llama-7b", nothing},
      {"nemo-table", "gated MLP of 2.65625", "llama-3-8b", nothing, "nemo-gpt-1b", nothing},
      {"accelerate", "autocast keeps them in fp32", "gpt2", cast, "gpt2", half},
      {"dnnmem", "fp32 throughout", "gpt2", nothing, "gpt2",
       [](TrainingPlan& plan) {
         plan.precision = Precision::fp32;
         plan.optimizer.master_weights = false;
       }},
  };
  for (const Row& row : rows) {
    const auto reset = [](const Change& change) {
      return [&change](TrainingPlan& plan) {
        change(plan);
        if (plan.lora.rank > 0 || !plan.training) {
          plan.optimizer.master_weights = false;
        }
      };
    };
    CAPTURE(row.form, row.sentence);
    CHECK(breaks(row.form, row.model, reset(row.breaking), row.sentence));
    CHECK_FALSE(breaks(row.form, row.kept_model, reset(row.keeping), row.sentence));
  }
}
