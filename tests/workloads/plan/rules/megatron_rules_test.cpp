// Rules of Megatron-Core's model: what Transformer Engine's layers, products in 8 bits and parts
// that are recomputed go together with.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/plan_words.hpp"
#include "workloads/plan/rules/plan_problems.hpp"

using namespace highwater;

namespace megatron_rules_test {
namespace {

/// A plan of Megatron-LM as one types it, with `words` more.
std::vector<std::string> problems_of(const std::string& words, const std::string& gpu = "h100-80") {
  return plan_problems(
      test::plan_of_words("framework=megatron precision=bf16 seq=512 gpu=" + gpu + " " + words));
}

bool has(const std::vector<std::string>& sentences, std::string_view part) {
  return std::ranges::any_of(
      sentences, [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

constexpr const char* kLatent = "model=deepseek-v3 ";
constexpr const char* kMixture = "model=mixtral-8x7b ";

}  // namespace

TEST_CASE("Megatron's rules: what can be recomputed of which model", "[plan][megatron]") {
  const std::string selected = "checkpoint=selective-attention recompute-modules=";
  const std::string latent = kLatent + selected;
  const std::string mixture = kMixture + selected;
  CHECK(problems_of(latent + "mla_up_proj,mlp,moe_act,layernorm").empty());
  CHECK(problems_of(mixture + "moe-act,layernorm").empty());
  CHECK(problems_of(selected + "mlp").empty());

  CHECK(has(problems_of("recompute-modules=mlp"), "add it, or omit recompute-modules"));
  CHECK(has(problems_of("checkpoint=full recompute-modules=mlp"), "recompute-modules"));
  CHECK(has(problems_of(selected + "mlp transformer-impl=local"), "Megatron-Core's own layers"));
  CHECK(has(problems_of(selected + "mlp fp8-recipe=delayed"), "recompute-modules with fp8-recipe"));
  CHECK(has(problems_of(mixture + "moe-act moe-grouped-gemm=false"), "activation of grouped"));
  CHECK(has(problems_of(mixture + "mla-up-proj"), "only latent attention has these"));
  CHECK(has(problems_of("model=gpt2 " + selected + "mlp"), "returns its bias"));
}

TEST_CASE("Megatron's rules: parts that are recomputed are a list of words", "[plan][megatron]") {
  const Option& option = option_called("recompute-modules");
  TrainingPlan plan;
  CHECK(option.text(plan) == "core-attn");
  CHECK_FALSE(option.set(plan, "shared_experts,mlp,moe-act"));
  CHECK(option.text(plan) == "moe-act,mlp,shared-experts");
  CHECK_THAT(*option.set(plan, "mlp,moe-acts"), Catch::Contains("did you mean moe-act?"));
  CHECK(option.set(plan, "mlp,"));
  CHECK(option.set(plan, ""));
  CHECK(option.text(plan) == "moe-act,mlp,shared-experts");
}

TEST_CASE("Megatron's rules: experts that tp does not split", "[plan][megatron]") {
  const std::string mixture = std::string(kMixture) + "tp=2 sp=true ";
  CHECK(problems_of(mixture + "ep=4 etp=1 dp=2").empty());
  CHECK(problems_of(mixture + "ep=2 etp=2 dp=2").empty());
  CHECK(has(problems_of(mixture + "ep=4 dp=2"), "or add --etp 1"));
  CHECK(has(problems_of(mixture + "ep=1 etp=1"), "use a multiple of tp"));
  CHECK(has(problems_of(mixture + "ep=8 etp=1 dp=2"), "use a multiple of tp"));
  CHECK(has(problems_of(mixture + "ep=4 etp=4 dp=2"), "use 1 or the size of tp"));
  CHECK(has(problems_of(mixture + "ep=4 etp=1 dp=2 moe-load=busiest:2"), "moe-load with etp 1"));
  CHECK(has(problems_of("tp=2 etp=1"), "only a mixture of experts under"));
}

TEST_CASE("Megatron's rules: Transformer Engine's layers", "[plan][megatron]") {
  CHECK(
      has(problems_of(std::string(kLatent) + "transformer-impl=local"), "transformer-impl local"));
  CHECK(has(problems_of(kLatent, "a100-80"), "compute capability 9.0"));
  CHECK(has(problems_of(std::string(kMixture) + "fp8-recipe=delayed"), "a mixture of experts"));
  CHECK(problems_of(kLatent, "b200").empty());  // 192 and 128 columns
  CHECK(has(problems_of("fp8-recipe=mxfp8"), "those of Blackwell"));
  CHECK(
      has(problems_of("fp8-recipe=delayed transformer-impl=local"), "without Transformer Engine"));
}

TEST_CASE("Megatron's rules: heads that cuDNN trains", "[plan][megatron]") {
  const auto with = [](int plain, int rotary, int value) {
    return "model={\"model_type\":\"deepseek_v2\",\"hidden_size\":512,\"num_hidden_layers\":2,"
           "\"num_attention_heads\":8,\"num_key_value_heads\":8,\"vocab_size\":1024,"
           "\"intermediate_size\":1024,\"moe_intermediate_size\":256,\"n_routed_experts\":4,"
           "\"n_shared_experts\":1,\"num_experts_per_tok\":2,\"kv_lora_rank\":64,"
           "\"q_lora_rank\":64,\"qk_nope_head_dim\":" +
           std::to_string(plain) + ",\"qk_rope_head_dim\":" + std::to_string(rotary) +
           ",\"v_head_dim\":" + std::to_string(value) + "}";
  };
  const char* const why = "cuDNN trains no heads of this width";
  CHECK(problems_of(with(64, 32, 64), "b200").empty());
  CHECK(has(problems_of(with(128, 32, 64), "b200"), why));
  CHECK(problems_of(with(128, 32, 64), "h100-80").empty());
  CHECK(has(problems_of(with(160, 32, 160), "h100-80"), why));
  CHECK(problems_of(with(128, 64, 128), "b200").empty());
  CHECK(has(problems_of(with(64, 20, 64), "h100-80"), why));
}

}  // namespace megatron_rules_test
