// The cheapest live blocks to free, chosen among several that would do.
#include "sim/oom/freed_blocks.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/format_io.hpp"
#include "tests/support/small_runs.hpp"

using namespace highwater;
using namespace highwater::literals;
using test::alloc;
using test::on_device;

namespace {

/// The sizes of the blocks in MiB, in their order: "10 30"; "none" where freeing does not help.
std::string in_mib(const std::optional<FreedBlocks>& freed) {
  std::string text;
  for (const HeldBlock& block : freed ? freed->blocks : std::vector<HeldBlock>{}) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", block.size.count() >> 20U);
  }
  return freed ? text : "none";
}

std::optional<FreedBlocks> stretch_of(const std::string& text, Bytes capacity) {
  const RequestTrace trace = test::parse_text(text);
  const ReplayOptions options = on_device(capacity);
  const std::optional<OomState> state = first_out_of_memory(trace, options);
  REQUIRE(state);
  return freed_stretch(trace, options, *state);
}

std::optional<FreedBlocks> one_stack_of(const std::string& text, Bytes capacity) {
  const RequestTrace trace = test::parse_text(text);
  const ReplayOptions options = on_device(capacity);
  const std::optional<OomState> state = first_out_of_memory(trace, options);
  REQUIRE(state);
  return freed_of_one_stack(trace, options, *state);
}

/// A cached segment of 100 MiB, taken again in pieces: |a 30|x 20|b 10|y 10|c 30|.
std::string five_pieces() {
  return "conf \n" + alloc("s", 100) + "f s\n" + alloc("a", 30) + alloc("x", 20) + alloc("b", 10) +
         alloc("y", 10) + alloc("c", 30);
}

const char* const kStacks =
    "conf \nframe 0 1 a.py\tone\nframe 1 2 a.py\ttwo\nstack 1 0\nstack 2 1\n";

}  // namespace

TEST_CASE("freed stretch: the fewest live bytes of one segment", "[sim][explain]") {
  // Free: x and y. 40 MiB fit in |a 30|x 20|, |x 20|b 10|y 10|, |b 10|y 10|c 30| and |y 10|c 30|.
  const auto freed = stretch_of(five_pieces() + "f x\nf y\n" + alloc("d", 40), 110_MiB);
  CHECK(in_mib(freed) == "10");
  REQUIRE(freed);
  CHECK(freed->bytes == 10_MiB);
}

TEST_CASE("freed stretch: a stretch may be the whole segment, and none is too narrow",
          "[sim][explain]") {
  CHECK(in_mib(stretch_of(five_pieces() + "f x\nf y\n" + alloc("d", 100), 110_MiB)) == "30 10 30");
  CHECK(in_mib(stretch_of(five_pieces() + "f x\nf y\n" + alloc("d", 101), 110_MiB)) == "none");
}

TEST_CASE("freed stretch: the cheapest segment, wherever it is", "[sim][explain]") {
  // |a 20|40 free| and |b 50|10 free|, then the same the other way round.
  const std::string first = alloc("s", 60) + alloc("t", 60) + "f s\n" + alloc("a", 20);
  CHECK(in_mib(stretch_of("conf \n" + first + "f t\n" + alloc("b", 50) + alloc("d", 60),
                          130_MiB)) == "20");
  const std::string second = alloc("s", 60) + alloc("t", 60) + "f s\n" + alloc("a", 50);
  CHECK(in_mib(stretch_of("conf \n" + second + "f t\n" + alloc("b", 20) + alloc("d", 60),
                          130_MiB)) == "20");
}

TEST_CASE("freed stretch: memory of another stream is of no use", "[sim][explain]") {
  // The cheap segment |b 10|50 free| is stream 1's.
  const std::string text = "conf \n" + alloc("s", 60) + alloc("t", 60, "1") + "f s\nf t\n" +
                           alloc("a", 20) + alloc("b", 10, "1");
  CHECK(in_mib(stretch_of(text + alloc("d", 60), 130_MiB)) == "20");
  CHECK(in_mib(stretch_of(text + alloc("d", 60, "1"), 130_MiB)) == "10");
}

TEST_CASE("freed of one stack: the stack with the fewest bytes, its largest block first",
          "[sim][explain]") {
  // 14 MiB are left of 100 and 38 asked for. Stack 1 holds 60 MiB and serves with its 30 alone;
  // stack 2 serves with 26.
  const std::string held = kStacks + alloc("a", 10, "0 @1") + alloc("b", 30, "0 @1") +
                           alloc("c", 20, "0 @1") + alloc("d", 26, "0 @2");
  CHECK(in_mib(one_stack_of(held + alloc("e", 38), 100_MiB)) == "26");
  // 44: 26 and 14 are too few, 30 and 14 are just enough.
  CHECK(in_mib(one_stack_of(held + alloc("e", 44), 100_MiB)) == "30");
  // 46: stack 1 needs a second block.
  CHECK(in_mib(one_stack_of(held + alloc("e", 46), 100_MiB)) == "30 20");
  // 74: all of stack 1, and no more than that.
  CHECK(in_mib(one_stack_of(held + alloc("e", 74), 100_MiB)) == "30 20 10");
  CHECK(in_mib(one_stack_of(held + alloc("e", 76), 100_MiB)) == "none");
}
