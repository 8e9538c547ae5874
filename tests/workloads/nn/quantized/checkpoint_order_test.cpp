// The order of a checkpoint's names, as transformers 5.23 sorts them (core_model_loading.py
// dot_natural_key).
#include "workloads/nn/quantized/checkpoint_order.hpp"

#include <catch2/catch.hpp>

using highwater::nn::is_loaded_before;

TEST_CASE("checkpoints: names are sorted part by part, numbers as numbers", "[quantized]") {
  // sorted([...], key=dot_natural_key) of transformers 5.23
  const auto [first, second] = GENERATE(table<std::string, std::string>({
      {"lm_head.weight", "model.embed_tokens.weight"},
      {"model.embed_tokens.weight", "model.layers.0.mlp.down_proj.weight"},
      {"model.layers.2.mlp.up_proj.weight", "model.layers.10.input_layernorm.weight"},
      {"model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight"},
      {"model.layers.0.self_attn.k_proj.bias", "model.layers.0.self_attn.k_proj.weight"},
      {"model.layers.1.mlp.up_proj.weight", "model.norm.weight"},
      {"part2.weight", "part10.weight"},
      {"a.1", "a.b"},
  }));
  CAPTURE(first, second);
  CHECK(is_loaded_before(first, second));
  CHECK_FALSE(is_loaded_before(second, first));
}
