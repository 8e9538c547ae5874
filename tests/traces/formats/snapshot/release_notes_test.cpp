// Lists of frames tell an empty_cache before an allocation from the allocation's own retry.
#include "traces/formats/snapshot/release_notes.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using highwater::detail::ReleaseNotes;

namespace {

RecordedEntry entry(RecordedAction action, std::uint32_t list) {
  return {.stack = StackId{list}, .action = action};
}

/// "retry at 1", "" for none: of a release, the device's answer and the allocation, by their lists.
std::string told(std::uint32_t released, std::uint32_t gained, std::uint32_t allocated) {
  ReleaseNotes notes;
  CHECK_FALSE(notes.follow(entry(RecordedAction::free_requested, 9), 0));
  CHECK_FALSE(notes.follow(entry(RecordedAction::segment_free, released), 1));
  CHECK_FALSE(notes.follow(entry(RecordedAction::segment_alloc, gained), 2));
  const auto note = notes.follow(entry(RecordedAction::alloc, allocated), 3);
  if (!note) {
    return "";
  }
  return (note->kind == AllocatorNote::Kind::retry ? "retry at " : "empty_cache at ") +
         std::to_string(note->entry);
}

}  // namespace

TEST_CASE("release notes: what an allocation released shares its list", "[snapshot]") {
  CHECK(told(5, 5, 5) == "retry at 1");
  CHECK(told(4, 5, 5) == "empty_cache at 1");
  CHECK(told(4, 4, 5).empty());  // a file in which each entry has a list of its own
}

TEST_CASE(
    "release notes: nothing is told where releases have several lists, one of them the "
    "allocation's",
    "[snapshot]") {
  ReleaseNotes notes;
  notes.follow(entry(RecordedAction::segment_free, 5), 0);
  notes.follow(entry(RecordedAction::segment_free, 4), 1);
  notes.follow(entry(RecordedAction::segment_alloc, 5), 2);
  CHECK_FALSE(notes.follow(entry(RecordedAction::alloc, 5), 3));
}
