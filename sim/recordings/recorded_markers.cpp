#include "sim/recordings/recorded_markers.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "traces/allocator_notes.hpp"
#include "traces/capture_names.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

/// Of what the allocator was asked for; the rest is not an event of its own.
std::optional<Event> event_of(const AllocatorNote& note, StringTable& strings) {
  switch (note.kind) {
    case AllocatorNote::Kind::settings:
      return Event{.value = strings.intern(note.rest).value(), .kind = EventKind::set_settings};
    case AllocatorNote::Kind::empty_cache:
      return Event{.kind = EventKind::empty_cache};
    case AllocatorNote::Kind::noted:
    case AllocatorNote::Kind::retry:
    case AllocatorNote::Kind::pool:
      return std::nullopt;
  }
  return std::nullopt;
}

/// "step 3" begins step 3; a name that `highwater record` gives to nothing else is a phase's.
std::optional<Event> marker_called(std::string_view name, StringTable& strings) {
  constexpr std::string_view kStep = "step ";
  if (const std::optional<AllocatorNote> note = allocator_note(name)) {
    return event_of(*note, strings);
  }
  if (name.starts_with(kStep)) {
    if (const auto number = parse_number<std::uint64_t>(name.substr(kStep.size()))) {
      return Event{.value = *number, .kind = EventKind::step};
    }
  }
  const bool is_capture = name == kCaptureBegins || name == kCaptureEnds;
  return Event{.value = strings.intern(name).value(),
               .kind = is_capture ? EventKind::op : EventKind::phase};
}

}  // namespace

std::vector<Marker> recorded_markers(const Recording& recording, int index, StringTable& strings) {
  std::vector<Marker> markers;
  for (const Annotation& annotation : recording.annotations) {
    if (annotation.entry && annotation.is_start && annotation.device == index) {
      if (const std::optional<Event> event = marker_called(annotation.name, strings)) {
        markers.push_back({*annotation.entry, *event});
      }
    }
  }
  std::ranges::stable_sort(markers, {}, &Marker::entry);
  return markers;
}

}  // namespace highwater
