// Layouts of mixtures: the ranks over which experts are spread.
#include "tools/studies/plan_search/layout.hpp"

#include <set>

#include <catch2/catch.hpp>

#include "tests/support/plan_words.hpp"

using namespace highwater;

namespace layout_test {
namespace {

/// Sizes of ep that are tried with two tensor-parallel ranks on four GPUs, without a pipeline.
std::set<int> sizes_of_ep(const std::string& words) {
  std::set<int> sizes;
  for (const Layout& each : layouts(test::plan_of_words("model=mixtral-8x7b " + words), 4)) {
    if (each.tp == 2 && each.dp == 2) {
      sizes.insert(each.ep);
    }
  }
  return sizes;
}

}  // namespace

TEST_CASE("layouts: whole experts are spread over the ranks of tp as well", "[plan]") {
  CHECK(sizes_of_ep("") == std::set{1, 2, 4});
  CHECK(sizes_of_ep("etp=1") == std::set{1, 2, 4});
  CHECK(sizes_of_ep("etp=2") == std::set{1, 2});
}

}  // namespace layout_test
