// 2D, 2.5D and 3D tensor parallelism: the worked example of Colossal-AI's documents (a linear layer
// 256 -> 1024 -> 256 of 16 rows), and Li et al.'s break-even points.
#include "workloads/estimates/forms/tensor_grid.hpp"

#include <catch2/catch.hpp>

#include "workloads/estimates/forms/sequence_parallel.hpp"

using namespace highwater;

TEST_CASE("tensor grid: blocks of 2D on four devices", "[workloads][estimates]") {
  const GridBlocks first = grid_blocks_2d({.side = 2}, 16, 256, 1024);
  const GridBlocks second = grid_blocks_2d({.side = 2}, 16, 1024, 256);
  CHECK(first.weight == MatrixSize{128, 512});
  CHECK(second.weight == MatrixSize{512, 128});
  CHECK(first.input == MatrixSize{8, 128});
  CHECK(first.output == MatrixSize{8, 512});
}

TEST_CASE("tensor grid: blocks of 2.5D and 3D on eight devices", "[workloads][estimates]") {
  const GridBlocks deep = grid_blocks_2d({.side = 2, .depth = 2}, 16, 256, 1024);
  CHECK(deep.weight == MatrixSize{128, 512});
  CHECK(deep.input == MatrixSize{4, 128});
  CHECK(deep.output == MatrixSize{4, 512});
  const GridBlocks first = grid_blocks_3d(2, 16, 256, 1024);
  const GridBlocks second = grid_blocks_3d(2, 16, 1024, 256);
  CHECK(first.weight == MatrixSize{128, 256});
  CHECK(second.weight == MatrixSize{512, 64});
  CHECK(first.input == MatrixSize{4, 128});
  CHECK(first.output == MatrixSize{4, 512});
}

TEST_CASE("tensor grid: four copies of the parameters, shared", "[workloads][estimates]") {
  CHECK(grid_states(1e6, 4, 4).bytes() == 4e6);
  CHECK(grid_states(1e6, 2, 8).bytes() == 1e6);
}

TEST_CASE("sequence parallel: break-even points", "[workloads][estimates]") {
  SequenceBlock block{.batch = 2, .hidden = 64, .ranks = 4, .heads = 4, .head_size = 16};
  block.length = 32 * block.hidden / block.batch;
  CHECK(mlp_of_sequence_parallel(block) == Approx(mlp_of_tensor_parallel(block)));
  block.length = 16 * block.heads * block.head_size / block.batch;
  CHECK(attention_of_sequence_parallel(block) == Approx(attention_of_tensor_parallel(block)));
}
