// What counts as covered by the recordings of a program, at its edges.
#include "sim/scaling/extent.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

FittedPoint point(Values values, bool is_reproduced) {
  FittedPoint made;
  made.values = std::move(values);
  made.predicted[0] = is_reproduced ? Bytes{} : Bytes{1};
  return made;
}

/// Recorded at batch 4 and seq 128, and at 12 and 256; a third that the program does not give
/// again, at 64 and 1024.
ScalableProgram two_of_three() {
  ScalableProgram program;
  program.integers = {"batch", "seq"};
  program.points = {point({4, 128}, true), point({12, 256}, true), point({64, 1024}, false)};
  return program;
}

std::vector<std::string> names(const Extent& extent) {
  std::vector<std::string> result;
  for (const UncoveredInteger& each : extent.uncovered) {
    result.push_back(each.name);
  }
  return result;
}

}  // namespace

TEST_CASE("extent: a recording, but only one that the program gives again", "[sim][scaling]") {
  const ScalableProgram program = two_of_three();
  CHECK(extent_of(program, {4, 128}).kind == ExtentKind::recorded);
  CHECK(extent_of(program, {12, 256}).kind == ExtentKind::recorded);
  CHECK(extent_of(program, {64, 1024}).kind == ExtentKind::beyond);
}

TEST_CASE("extent: two recordings reach from one to the other", "[sim][scaling]") {
  const ScalableProgram program = two_of_three();
  CHECK(extent_of(program, {4, 256}).kind == ExtentKind::between);  // both ends belong to it
  CHECK(extent_of(program, {8, 128}).kind == ExtentKind::between);
  CHECK(names(extent_of(program, {0, 128})) == std::vector<std::string>{"batch"});
  CHECK(names(extent_of(program, {16, 128})) == std::vector<std::string>{"batch"});
  CHECK(names(extent_of(program, {16, 512})) == std::vector<std::string>{"batch", "seq"});
  CHECK(extent_of(program, {16, 128}).kind == ExtentKind::beyond);
}

TEST_CASE("extent: between recordings, only multiples of what all are multiples of",
          "[sim][scaling]") {
  // 4 divides 4 and 12, 128 divides 128 and 256.
  const Extent odd = extent_of(two_of_three(), {6, 192});
  CHECK(odd.kind == ExtentKind::beyond);
  REQUIRE(names(odd) == std::vector<std::string>{"batch", "seq"});
  CHECK(odd.uncovered[0].value == 6);
  CHECK(odd.uncovered[0].least == 4);
  CHECK(odd.uncovered[0].most == 12);
  CHECK(odd.uncovered[0].multiple == 4);
  CHECK_FALSE(odd.uncovered[0].is_outside());
  CHECK(odd.uncovered[0].is_off_grid());
  CHECK(odd.uncovered[1].multiple == 128);
}

TEST_CASE("extent: nothing lies between recordings of which none is given again",
          "[sim][scaling]") {
  ScalableProgram program;
  program.integers = {"batch"};
  program.points = {point({4}, false), point({12}, false)};
  const Extent extent = extent_of(program, {8});
  CHECK(extent.kind == ExtentKind::beyond);
  CHECK(extent.uncovered.empty());  // their range is known all the same
  CHECK(covered_by(program)[0].least == 4);
  CHECK(covered_by(program)[0].most == 12);
}

TEST_CASE("extent: one recording that is given again covers itself alone", "[sim][scaling]") {
  ScalableProgram program = two_of_three();
  program.points.erase(program.points.begin());
  CHECK(extent_of(program, {12, 256}).kind == ExtentKind::recorded);
  CHECK(extent_of(program, {8, 256}).kind == ExtentKind::beyond);
  CHECK(names(extent_of(program, {12, 512})) == std::vector<std::string>{"seq"});
}

TEST_CASE("extent: a recorded 0 is a multiple of everything but tells of no grid",
          "[sim][scaling]") {
  ScalableProgram program;
  program.integers = {"images"};
  program.points = {point({0}, true), point({8}, true)};
  CHECK(covered_by(program)[0].multiple == 1);
  CHECK(extent_of(program, {3}).kind == ExtentKind::between);
}
