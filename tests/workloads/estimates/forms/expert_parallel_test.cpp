// Mixtures of experts in closed form: the published numbers of parameters, states by hand, slots.
#include "workloads/estimates/forms/expert_parallel.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

// The dense part is what the models without experts are named after.
TEST_CASE("expert parallel: published numbers of parameters", "[workloads][estimates]") {
  // Switch-C: 15 layers in encoder and decoder each, 2048 experts of 2080 x 6144: 1571 billion.
  CHECK(expert_parameters(30, 2048, 2080, 6144) == Approx(1571e9).epsilon(1e-3));
  // DeepSpeed-MoE, 24 layers, every other one with 128 experts in the place of one MLP.
  CHECK(0.35e9 + expert_parameters(12, 127, 1024, 4096) == Approx(13e9).margin(0.5e9));
  CHECK(1.3e9 + expert_parameters(12, 127, 2048, 8192) == Approx(52e9).margin(0.5e9));
}

TEST_CASE("expert parallel: states of a rank", "[workloads][estimates]") {
  const MixtureParameters model{.dense = 1e9, .experts = 8e9};
  // 16 bytes for each dense parameter and for a quarter of the experts'
  CHECK(mixture_states(model, {.data = 8, .expert = 4}, ZeroStage::replicated).bytes() == 48e9);
  // 4 + 12 / 8 for dense ones, 4 + 12 / 2 for 2e9 of experts, which two ranks have
  CHECK(mixture_states(model, {.data = 8, .expert = 4}, ZeroStage::one).bytes() == 25.5e9);
  // without expert parallelism all are alike
  CHECK(mixture_states(model, {.data = 8, .expert = 1}, ZeroStage::two).bytes() ==
        zero_paper(9e9, 8, ZeroStage::two).bytes());
}

TEST_CASE("expert parallel: slots of a layer", "[workloads][estimates]") {
  const MixtureLayer layer{
      .tokens = 512, .experts = 8, .top_k = 2, .hidden = 256, .capacity_factor = 1.25};
  CHECK(layer.capacity() == 160);            // 2 512 / 8 1.25
  CHECK(layer.slots() == 327680);            // 8 160 256
  CHECK(layer.combine_weights() == 655360);  // 512 8 160
}
