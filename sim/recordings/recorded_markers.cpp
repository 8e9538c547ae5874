#include "sim/recordings/recorded_markers.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "traces/allocator_notes.hpp"
#include "traces/capture_names.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

Marker event_marker(const Event& event) {
  return {.event = event};
}

std::optional<Marker> release_marker(std::string_view text) {
  const std::optional<NotedRelease> release = noted_release(text);
  if (!release) {
    return std::nullopt;
  }
  return Marker{.event = {.value = release->is_now ? 1U : 0U, .kind = EventKind::pool_release},
                .kind = release->is_now ? Marker::Kind::call : Marker::Kind::event,
                .pool = release->pool};
}

std::optional<Marker> retire_marker(std::string_view text) {
  const std::optional<PoolId> pool = noted_retirement(text);
  return pool ? std::optional(Marker{.event = {.kind = EventKind::pool_retire}, .pool = *pool})
              : std::nullopt;
}

std::optional<Marker> limit_marker(std::string_view text) {
  const std::optional<std::uint64_t> limit = noted_limit(text);
  return limit ? std::optional(event_marker({.value = *limit, .kind = EventKind::memory_limit}))
               : std::nullopt;
}

/// For a note about a call of the allocator; other notes become no marker.
std::optional<Marker> marker_of(const AllocatorNote& note, StringTable& strings) {
  switch (note.kind) {
    case AllocatorNote::Kind::settings:
      return event_marker(
          {.value = strings.intern(note.rest).value(), .kind = EventKind::set_settings});
    case AllocatorNote::Kind::empty_cache:
      return Marker{.event = {.kind = EventKind::empty_cache}, .kind = Marker::Kind::call};
    case AllocatorNote::Kind::done:
      return Marker{.kind = Marker::Kind::done};
    case AllocatorNote::Kind::release:
      return release_marker(note.rest);
    case AllocatorNote::Kind::retire:
      return retire_marker(note.rest);
    case AllocatorNote::Kind::limit:
      return limit_marker(note.rest);
    case AllocatorNote::Kind::noted:
    case AllocatorNote::Kind::retry:
    case AllocatorNote::Kind::pool:
    case AllocatorNote::Kind::device:
      return std::nullopt;
  }
  return std::nullopt;
}

/// "step 3" begins step 3; a name that `highwater record` gives to nothing else is a phase's.
std::optional<Marker> marker_called(std::string_view name, StringTable& strings) {
  constexpr std::string_view kStep = "step ";
  if (const std::optional<AllocatorNote> note = allocator_note(name)) {
    return marker_of(*note, strings);
  }
  if (name.starts_with(kStep)) {
    if (const auto number = parse_number<std::uint64_t>(name.substr(kStep.size()))) {
      return event_marker({.value = *number, .kind = EventKind::step});
    }
  }
  const bool is_capture = name == kCaptureBegins || name == kCaptureEnds;
  return event_marker({.value = strings.intern(name).value(),
                       .kind = is_capture ? EventKind::op : EventKind::phase});
}

}  // namespace

std::vector<Marker> recorded_markers(const Recording& recording, int index, StringTable& strings) {
  std::vector<Marker> markers;
  for (const Annotation& annotation : recording.annotations) {
    if (annotation.entry && annotation.is_start && annotation.device == index) {
      if (std::optional<Marker> marker = marker_called(annotation.name, strings)) {
        marker->entry = *annotation.entry;
        markers.push_back(*marker);
      }
    }
  }
  std::ranges::stable_sort(markers, {}, &Marker::entry);
  return markers;
}

}  // namespace highwater
