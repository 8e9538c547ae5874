// What PyTorch's viewer draws; tools/python/checks/view_snapshot.py compares with the viewer
// itself.
#include "sim/recordings/viewer_curve.hpp"

#include <catch2/catch.hpp>

#include "tests/support/recording_builder.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kDrawn = 0x7f0000000000;
constexpr std::uint64_t kDrawnAfter = 0x7f0010000000;

ViewerCurve drawn_of(const RecordingBuilder& builder) {
  return viewer_curve(builder.get().devices.front());
}

}  // namespace

TEST_CASE("viewer: a block is drawn at its requested size until its free is completed",
          "[sim][viewer]") {
  RecordingBuilder builder;
  builder.alloc(kDrawn, Bytes{100}).free_requested(kDrawn, Bytes{100});
  builder.alloc(kDrawnAfter, 3_MiB).free_completed(kDrawn, Bytes{100}).free(kDrawnAfter, 3_MiB);
  const ViewerCurve drawn = drawn_of(builder);
  CHECK(drawn.peak == 3_MiB + Bytes{100});
  CHECK(drawn.entries_to_peak == 3);
  CHECK(drawn.older_blocks == 0);
}

TEST_CASE("viewer: older blocks are drawn if they are freed, or in use at the end",
          "[sim][viewer]") {
  RecordingBuilder builder;
  builder.free(kDrawnAfter, 5_MiB).alloc(kDrawnAfter, 2_MiB);
  builder.final_segment(kDrawn, {{4_MiB, BlockState::active_allocated},
                                 {8_MiB, BlockState::active_pending_free},
                                 {8_MiB, BlockState::inactive}});
  builder.final_segment(kDrawnAfter, {{2_MiB, BlockState::active_allocated}});
  const ViewerCurve drawn = drawn_of(builder);
  CHECK(drawn.peak == 9_MiB);
  CHECK(drawn.entries_to_peak == 0);
  CHECK(drawn.older_blocks == 2);
  CHECK(drawn.older == 9_MiB);
  CHECK(drawn.older_in_use == 4_MiB);
  CHECK(drawn.left_out == 8_MiB);
}

TEST_CASE("viewer: a second free of one address is one of an older block", "[sim][viewer]") {
  RecordingBuilder builder;
  builder.alloc(kDrawn, Bytes{100}).free(kDrawn, Bytes{100}).free(kDrawn, Bytes{100});
  const ViewerCurve drawn = drawn_of(builder);
  CHECK(drawn.older_blocks == 1);
  CHECK(drawn.older == Bytes{100});
  CHECK(drawn.peak == Bytes{200});
}

TEST_CASE("viewer: without entries the blocks in use are drawn", "[sim][viewer]") {
  RecordingBuilder builder;
  builder.final_segment(kDrawn, {{4_MiB, BlockState::active_allocated}});
  CHECK(drawn_of(builder).peak == 4_MiB);
}
