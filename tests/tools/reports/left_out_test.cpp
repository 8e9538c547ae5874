// Keys that an answer leaves out: four are named, the others counted.
#include "tools/reports/left_out.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

TEST_CASE("left out: where nothing was left out, nothing is printed", "[reports]") {
  CHECK(left_out_sentence({}).empty());
}

TEST_CASE("left out: up to four keys are all named", "[reports]") {
  CHECK(left_out_sentence({"a"}) == "not in this answer: a; the notes at the end say why");
  CHECK(left_out_sentence({"a", "b", "c", "d"}) ==
        "not in this answer: a, b, c, d; the notes at the end say why");
}

TEST_CASE("left out: of five keys the last one is counted", "[reports]") {
  CHECK(left_out_sentence({"a", "b", "c", "d", "e"}) ==
        "not in this answer: a, b, c, d and 1 more; the notes at the end say why");
}
