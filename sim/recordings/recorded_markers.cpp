#include "sim/recordings/recorded_markers.hpp"

#include <algorithm>
#include <string_view>

#include "traces/capture_names.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

/// "step 3" begins step 3; a name that `highwater record` gives to nothing else is a phase's.
Event marker_called(std::string_view name, StringTable& strings) {
  constexpr std::string_view kStep = "step ";
  if (name.starts_with(kStep)) {
    if (const auto number = parse_number<std::uint64_t>(name.substr(kStep.size()))) {
      return {.value = *number, .kind = EventKind::step};
    }
  }
  if (name == "empty_cache") {
    return {.kind = EventKind::empty_cache};
  }
  const bool is_capture = name == kCaptureBegins || name == kCaptureEnds;
  return {.value = strings.intern(name).value(),
          .kind = is_capture ? EventKind::op : EventKind::phase};
}

}  // namespace

std::vector<Marker> recorded_markers(const Recording& recording, int index, StringTable& strings) {
  std::vector<Marker> markers;
  for (const Annotation& annotation : recording.annotations) {
    if (annotation.entry && annotation.is_start && annotation.device == index) {
      markers.push_back({*annotation.entry, marker_called(annotation.name, strings)});
    }
  }
  std::ranges::stable_sort(markers, {}, &Marker::entry);
  return markers;
}

}  // namespace highwater
