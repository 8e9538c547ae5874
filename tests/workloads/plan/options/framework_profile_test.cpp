// Whose loop runs, and what that implies: transformers 5.23, lightning 2.6, accelerate 1.15.
#include "workloads/plan/options/framework_profile.hpp"

#include <catch2/catch.hpp>

#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

TrainingPlan plan_with(OptionWords words) {
  words.emplace_back("model", "llama-160m");
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words(words, problems);
  CAPTURE(problems);
  CHECK(problems.empty());
  return plan;
}

}  // namespace

TEST_CASE("framework: a script around transformers' model keeps logits and cache",
          "[plan][framework]") {
  const TrainingPlan plan = plan_with({});
  CHECK(plan.framework == Framework::hf);
  CHECK(plan.keep_logits);
  CHECK(plan.use_cache);
  CHECK(plan.versions.torch == kNewestTorch);
  CHECK(plan.versions.transformers == kNewestTransformers);
  CHECK_FALSE(plan_with({{"loss", "fused"}}).keep_logits);
  CHECK_FALSE(plan_with({{"pp", "2"}}).use_cache);
}

TEST_CASE("framework: other model code runs in a bare loop", "[plan][framework]") {
  for (const char* code : {"torchtitan", "megatron"}) {
    const TrainingPlan plan = plan_with({{"model-code", code}});
    CHECK(plan.framework == Framework::torch);
    CHECK_FALSE(plan.keep_logits);
  }
}

TEST_CASE("framework: Trainer's AdamW is fused since torch 2.8, other optimizers are not",
          "[plan][framework]") {
  const auto impl = [](OptionWords words) {
    words.emplace_back("framework", "trainer");
    return plan_with(std::move(words)).optimizer.impl;
  };
  CHECK(impl({}) == OptimizerImpl::fused);
  CHECK(impl({{"torch", "2.7"}}) == OptimizerImpl::standard);
  CHECK(impl({{"optimizer", "sgd"}}) == OptimizerImpl::standard);
  CHECK(impl({{"optimizer", "sgd"}, {"optimizer-impl", "fused"}}) == OptimizerImpl::fused);
}

// accelerate 1.15, accelerator.py prepare_model: FSDP(model, device_id=...) around what is on the
// host.
TEST_CASE("framework: what accelerate shards by FSDP1 is made on the host", "[plan][framework]") {
  const auto init = [](const char* kind) {
    return plan_with({{"framework", "accelerate-fsdp2"}, {"dp", "4"}, {"dp-kind", kind}}).init;
  };
  CHECK(init("fsdp1") == ModelInit::cpu);
  CHECK(init("fsdp2") == ModelInit::meta);
}

TEST_CASE("framework: a default is later than the plan's PyTorch where its row says since when",
          "[plan][framework]") {
  const auto is_later = [](const char* framework, const char* torch, const char* option) {
    return is_default_later(plan_with({{"framework", framework}, {"torch", torch}}), option);
  };
  for (const char* const framework : {"trainer", "trl-sft"}) {
    CHECK(is_later(framework, "2.7", "optimizer-impl"));
    CHECK_FALSE(is_later(framework, "2.8", "optimizer-impl"));
    CHECK_FALSE(is_later(framework, "2.7", "grad-clip"));
  }
  CHECK_FALSE(is_later("hf", "2.7", "optimizer-impl"));
  const auto loss_with = [](const char* transformers) {
    return plan_with({{"framework", "trl-sft"}, {"transformers", transformers}}).loss.kind;
  };
  CHECK(loss_with("4.55") == LossKind::hf);
  CHECK(loss_with("4.56") == LossKind::trl);
}

TEST_CASE("framework: Trainer's groups, clipping and DDP follow the run", "[plan][framework]") {
  const auto with = [](OptionWords words) {
    words.emplace_back("framework", "trainer");
    return plan_with(std::move(words));
  };
  const TrainingPlan plain = with({});
  CHECK(plain.grad_clip == 1.0);
  CHECK(plain.optimizer.param_groups == 2);
  CHECK(plain.init == ModelInit::cpu);
  CHECK_FALSE(plain.keep_logits);
  CHECK(with({{"lora", "16"}}).optimizer.param_groups == 1);
  CHECK(with({{"dp", "2"}}).parallel.ddp.find_unused);
  CHECK_FALSE(with({{"dp", "2"}, {"checkpoint", "full"}}).parallel.ddp.find_unused);
}

// accelerate 1.15, utils/dataclasses.py set_mixed_precision: the type of both.
TEST_CASE("framework: Trainer's fp16 is fully_shard's own mixed precision", "[plan][framework]") {
  const TrainingPlan plan = plan_with(
      {{"framework", "trainer"}, {"precision", "amp-fp16"}, {"dp", "2"}, {"dp-kind", "fsdp2"}});
  CHECK(plan.parallel.fsdp.param_dtype == DType::fp16);
  CHECK(plan.parallel.fsdp.reduce_dtype == DType::fp16);
  CHECK_FALSE(runs_autocast(plan));
}

TEST_CASE("framework: Trainer leaves the cache on before transformers 5", "[plan][framework]") {
  const auto with = [](const char* transformers) {
    return plan_with({{"framework", "trainer"}, {"transformers", transformers}});
  };
  CHECK(with("4.57").use_cache);
  CHECK_FALSE(with("5.0").use_cache);
}

TEST_CASE("framework: accelerate gives fully_shard 16 bit and runs no autocast",
          "[plan][framework]") {
  const auto with = [](OptionWords words) {
    words.emplace_back("framework", "accelerate-fsdp2");
    words.emplace_back("dp", "4");
    return plan_with(std::move(words));
  };
  const TrainingPlan plain = with({});
  CHECK(is_fsdp2(plain.parallel));
  CHECK(plain.precision == Precision::fp32);
  CHECK(plain.parallel.fsdp.param_dtype == DType::bf16);
  CHECK(plain.parallel.fsdp.reduce_dtype == DType::bf16);
  CHECK(plain.init == ModelInit::meta);
  CHECK(plain.parallel.fsdp.units == FsdpUnits::ends);
  CHECK_FALSE(with({{"precision", "bf16"}}).parallel.fsdp.param_dtype.has_value());
}

TEST_CASE("framework: torchtitan's model, types and units", "[plan][framework]") {
  const TrainingPlan plan = plan_with({{"framework", "torchtitan"}, {"dp", "8"}});
  CHECK(plan.model_code == ModelCode::torchtitan);
  CHECK(plan.parallel.fsdp.param_dtype == DType::bf16);
  CHECK(plan.parallel.fsdp.reduce_dtype == DType::fp32);
  CHECK(plan.checkpoint.kind == CheckpointKind::selective_op);
  CHECK(plan.versions.torchtitan == "0.3");
  CHECK(plan.attention == Attention::flex);
  // fully_shard is applied on one rank, too, but January 2025's was not.
  CHECK(plan_with({{"framework", "torchtitan"}}).parallel.fsdp.param_dtype == DType::bf16);
  const TrainingPlan published = plan_with({{"framework", "torchtitan"}, {"torchtitan", "0.0"}});
  CHECK_FALSE(published.parallel.fsdp.param_dtype.has_value());
  CHECK(published.attention == Attention::sdpa);
  CHECK(published.loss.kind == LossKind::flat);
}

TEST_CASE("framework: torchtune's model, type and loss", "[plan][framework]") {
  const TrainingPlan plan = plan_with({{"framework", "torchtune"}});
  CHECK(plan.model_code == ModelCode::torchtune);
  CHECK(plan.precision == Precision::bf16);
  CHECK(plan.loss.kind == LossKind::chunked);
  CHECK(plan.optimizer.impl == OptimizerImpl::fused);
  const TrainingPlan sharded = plan_with({{"framework", "torchtune"}, {"dp", "8"}});
  CHECK(is_fsdp2(sharded.parallel));
  CHECK(sharded.init == ModelInit::meta);
}

TEST_CASE("framework: SFTTrainer checkpoints and makes no logits", "[plan][framework]") {
  const TrainingPlan plan = plan_with({{"framework", "trl-sft"}});
  CHECK(plan.checkpoint.kind == CheckpointKind::full);
  CHECK(plan.precision == Precision::amp_bf16);
  CHECK_FALSE(plan.keep_logits);
}

TEST_CASE("framework: Lightning zeroes gradients before its backward", "[plan][framework]") {
  CHECK(plan_with({{"framework", "lightning"}}).zero_grad_at == ZeroGradAt::backward);
}

TEST_CASE("framework: a plan that changes its framework drops the defaults of the first",
          "[plan][framework]") {
  TrainingPlan plan = default_plan();
  REQUIRE(plan.keep_logits);
  apply_framework(Framework::deepspeed, plan);
  TrainingPlan fresh;
  apply_framework(Framework::deepspeed, fresh);
  CHECK(plan_words(plan) == plan_words(fresh));
}
