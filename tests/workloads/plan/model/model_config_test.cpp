// What follows from a model's config: its problems, its shape, the same model in other words.
#include <catch2/catch.hpp>

#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/model/parameter_count.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

std::vector<std::string> problems_of(ModelConfig config) {
  return model_problems({"test", "", std::move(config)});
}

}  // namespace

TEST_CASE("problems: all at once, with the remedy", "[models]") {
  LlamaConfig config;
  config.hidden_size = 100;
  config.num_attention_heads = 12;
  config.num_key_value_heads = 5;
  config.vocab_size = 0;
  config.attention_dropout = 1.5;
  const auto problems = problems_of(config);
  REQUIRE(problems.size() == 4);
  CHECK(problems[0] == "vocab_size is 0; give at least 1");
  CHECK_THAT(problems[1], Contains("num_attention_heads (12) does not divide hidden_size (100)"));
  CHECK_THAT(problems[2],
             Contains("num_key_value_heads (5) does not divide num_attention_heads (12)"));
  CHECK_THAT(problems[3], Contains("attention_dropout is 1.5"));
}

TEST_CASE("problems: rules of single families", "[models]") {
  CHECK(problems_of(CodegenConfig{.n_embd = 60, .n_head = 6, .rotary_dim = 4}).size() == 1);
  CHECK(problems_of(GptJConfig{.rotary_dim = 7}).size() == 1);
  CHECK(problems_of(MixtralConfig{.num_experts_per_tok = 9}).size() == 1);
  CHECK(problems_of(DeepseekV3Config{.n_group = 7, .topk_group = 8}).size() == 2);
  CHECK(problems_of(OptConfig{.layerdrop = 0.1}).size() == 1);
  CHECK(problems_of(GptNeoConfig{.attention_layers = {GptNeoAttention::global}}).size() == 1);
  CHECK(problems_of(Gpt2Config{.n_layer = 0, .n_head = 0}).size() == 2);
}

TEST_CASE("problems: absurd sizes are refused, the largest real ones are not", "[models]") {
  CHECK(model_problems(model_preset("llama-3.1-405b")).empty());
  CHECK(problems_of(TorchtitanConfig{.dim = std::int64_t{1} << 30,
                                     .ffn = std::int64_t{1} << 30,
                                     .heads = 1,
                                     .kv_heads = 1})
            .size() == 1);
  CHECK(problems_of(Gpt2Config{.vocab_size = std::int64_t{1} << 40}).size() == 1);
}

TEST_CASE("torchtitan: a LLaMA becomes a plain decoder of the same size", "[models]") {
  const auto& llama = model_preset("llama-3-8b").config.as<LlamaConfig>();
  CHECK(torchtitan_problems(llama).empty());
  CHECK(to_torchtitan(llama) == model_preset("plain-8b").config.as<TorchtitanConfig>());
  CHECK(parameter_count(to_torchtitan(llama)) == parameter_count(llama));
  const auto& tied = model_preset("llama-3.2-1b").config.as<LlamaConfig>();
  CHECK(torchtitan_problems(tied).size() == 1);
  CHECK(torchtitan_problems(gemma_defaults()).size() >= 3);
}

TEST_CASE("dropout: one value for all of a model's probabilities", "[models]") {
  ModelConfig config = Gpt2Config{};
  set_dropout(config, 0.0);
  const auto& gpt2 = config.as<Gpt2Config>();
  CHECK(gpt2.resid_pdrop + gpt2.embd_pdrop + gpt2.attn_pdrop == 0.0);
}

TEST_CASE("shape: derived sizes follow the config", "[models]") {
  CHECK(shape_of(ModelConfig(Gpt2Config{.n_embd = 64, .n_head = 4})).ffn == 256);
  CHECK(shape_of(ModelConfig(GptBigCodeConfig{})).kv_heads == 1);
  CHECK(shape_of(ModelConfig(T5Config{})).decoder_layers == 6);
  CHECK(shape_of(model_preset("deepseek-v3")).head_dim == 192);
  CHECK(ModelConfig(Gpt2Config{}).family().traits.position_table);
  CHECK_FALSE(ModelConfig(LlamaConfig{}).family().traits.position_table);
}
