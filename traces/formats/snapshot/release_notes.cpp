#include "traces/formats/snapshot/release_notes.hpp"

namespace highwater::detail {

std::optional<ReleaseNotes::Note> ReleaseNotes::follow(const RecordedEntry& entry,
                                                       std::size_t place) {
  std::optional<Note> note;
  switch (entry.action) {
    case RecordedAction::segment_free:
    case RecordedAction::segment_unmap:
      released(entry, place);
      break;
    case RecordedAction::segment_alloc:
    case RecordedAction::segment_map:
      gaining_ = entry.stack;
      break;
    case RecordedAction::alloc:
      note = judge(entry);
      [[fallthrough]];
    case RecordedAction::oom:
    case RecordedAction::free_requested:
      *this = ReleaseNotes();
      break;
    default:
      break;
  }
  return note;
}

void ReleaseNotes::released(const RecordedEntry& entry, std::size_t place) {
  if (!first_) {
    first_ = Note{.entry = place, .time_us = entry.time_us};
    list_ = entry.stack;
  }
  is_one_list_ &= entry.stack == list_;
}

/// Only where the device's answer shows that this file's entries of one request share a list.
std::optional<ReleaseNotes::Note> ReleaseNotes::judge(const RecordedEntry& allocation) const {
  const bool tells = first_ && gaining_ == allocation.stack && allocation.stack.has_value();
  const bool is_own = list_ == allocation.stack;
  if (!tells || (is_own && !is_one_list_)) {
    return std::nullopt;
  }
  Note note = *first_;
  note.kind = is_own ? AllocatorNote::Kind::retry : AllocatorNote::Kind::empty_cache;
  return note;
}

Annotation annotation_of(const ReleaseNotes::Note& note, int device) {
  return {.name = name_of({.kind = note.kind, .rest = {}}),
          .is_start = true,
          .device = device,
          .time_us = note.time_us,
          .entry = note.entry};
}

}  // namespace highwater::detail
