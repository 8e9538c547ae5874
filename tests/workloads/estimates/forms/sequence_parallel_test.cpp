// Li et al.'s Tables 1 and 2: each row by hand, and where sequence parallelism takes less.
#include "workloads/estimates/forms/sequence_parallel.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

TEST_CASE("sequence parallel: the rows of both tables", "[workloads][estimates]") {
  const SequenceBlock block{
      .batch = 2, .length = 8, .hidden = 16, .ranks = 4, .heads = 2, .head_size = 8};
  const BlockElements wide = mlp_elements(block, BlockShare::weights);
  CHECK(wide.states == 2048);      // 32 16^2 / 4
  CHECK(wide.activations == 512);  // 4 2 8 16 / 4 + 2 8 16
  const BlockElements short_mlp = mlp_elements(block, BlockShare::tokens);
  CHECK(short_mlp.states == 8192);
  CHECK(short_mlp.activations == 320);  // 5 2 8 16 / 4
  const BlockElements heads = attention_elements(block, BlockShare::weights);
  CHECK(heads.states == 1024);      // 16 8 2 16 / 4
  CHECK(heads.activations == 576);  // 4 2 8 2 8 / 4 + 2 2 8^2 / 4 + 2 8 16
  const BlockElements tokens = attention_elements(block, BlockShare::tokens);
  CHECK(tokens.states == 4096);
  CHECK(tokens.activations == 384);
}

TEST_CASE("sequence parallel: break-even points", "[workloads][estimates]") {
  SequenceBlock block{.batch = 2, .hidden = 64, .ranks = 4, .heads = 4, .head_size = 16};
  block.length = 32 * block.hidden / block.batch;
  CHECK(mlp_elements(block, BlockShare::tokens).sum() ==
        Approx(mlp_elements(block, BlockShare::weights).sum()));
  block.length = 16 * block.heads * block.head_size / block.batch;
  CHECK(attention_elements(block, BlockShare::tokens).sum() ==
        Approx(attention_elements(block, BlockShare::weights).sum()));
}
