// Blocks that waited for other streams when a recording began, and the blocks of its end.
#include "sim/recordings/older_blocks.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/recording_builder.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kStart = 0x7f0000000000;

constexpr std::uint64_t place(Bytes offset) {
  return kStart + offset.count();
}

/// "offset+size" in MiB of each older block, with the real size where it is known: "20+4(6)".
std::string pending_of(const RecordingBuilder& builder) {
  std::string text;
  for (const OlderBlock& block : older_pending_blocks(builder.get().devices.front())) {
    text += fmt::format("{}{}+{}", text.empty() ? "" : " ", (block.address.value() - kStart) >> 20U,
                        block.requested.count() >> 20U);
    text += block.size ? fmt::format("({})", block.size->count() >> 20U) : "";
  }
  return text;
}

}  // namespace

TEST_CASE("older blocks: a free that completes without having been asked for waited before",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.alloc(place(0_MiB), 2_MiB).free(place(0_MiB), 2_MiB).free_completed(place(20_MiB), 4_MiB);
  CHECK(pending_of(builder) == "20+4");
}

TEST_CASE("older blocks: the request of the first entry's free may be cut off",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.free_completed(place(20_MiB), 4_MiB).free_completed(place(40_MiB), 6_MiB);
  builder.free(place(0_MiB), 2_MiB);
  CHECK(pending_of(builder) == "40+6");
}

TEST_CASE("older blocks: where requests to free were not recorded, completions say nothing",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.alloc(place(0_MiB), 2_MiB).free_completed(place(20_MiB), 4_MiB);
  CHECK(pending_of(builder).empty());
}

TEST_CASE("older blocks: a block that the recording mentioned before is not older",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.alloc(place(0_MiB), 2_MiB)
      .free_requested(place(0_MiB), 2_MiB)
      .free_completed(place(0_MiB), 2_MiB);
  builder.free_requested(place(20_MiB), 4_MiB).alloc(place(40_MiB), 2_MiB);
  builder.free_completed(place(20_MiB), 4_MiB).free_completed(place(40_MiB), 2_MiB);
  CHECK(pending_of(builder).empty());
}

TEST_CASE("older blocks: a block that waits from before the first entry to after the last",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.alloc(place(0_MiB), 2_MiB).free_requested(place(0_MiB), 2_MiB);
  builder.final_segment(place(0_MiB), {{2_MiB, BlockState::active_pending_free},
                                       {4_MiB, BlockState::active_pending_free},
                                       {6_MiB, BlockState::active_allocated},
                                       {8_MiB, BlockState::inactive}});
  CHECK(pending_of(builder) == "2+4(4)");
}

TEST_CASE("older blocks: the final blocks that are not free, by address", "[sim][derivation]") {
  RecordingBuilder builder;
  builder.final_segment(place(0_MiB), {{2_MiB, BlockState::active_allocated},
                                       {4_MiB, BlockState::inactive},
                                       {6_MiB, BlockState::active_pending_free}});
  const FinalBlocks blocks(builder.get().devices.front());
  REQUIRE(blocks.in_order().size() == 2);
  CHECK(blocks.in_order()[0]->size == 2_MiB);
  CHECK(blocks.at(Address{place(6_MiB)}) == blocks.in_order()[1]);
  CHECK(blocks.at(Address{place(2_MiB)}) == nullptr);
}
