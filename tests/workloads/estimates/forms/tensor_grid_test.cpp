// 2D, 2.5D and 3D tensor parallelism: the worked example of Colossal-AI's documents (a linear layer
// 256 -> 1024 -> 256 of 16 rows).
#include "workloads/estimates/forms/tensor_grid.hpp"

#include <catch2/catch.hpp>

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
