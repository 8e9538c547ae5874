#include "sim/recordings/allocator_calls.hpp"

#include <algorithm>

#include "traces/allocator_notes.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

bool has_any(const std::vector<std::uint64_t>& places, EntryRange entries) {
  const auto first = std::ranges::lower_bound(places, entries.begin);
  return first != places.end() && *first < entries.end;
}

}  // namespace

AllocatorCalls::AllocatorCalls(const Recording& recording, int device) {
  for (const Annotation& annotation : recording.annotations) {
    const std::optional<AllocatorNote> note = allocator_note(annotation.name);
    if (!note || !annotation.entry ||
        (annotation.device != device && note->kind != AllocatorNote::Kind::pool)) {
      continue;
    }
    switch (note->kind) {
      case AllocatorNote::Kind::noted:
        noted_from_ = annotation.entry;
        is_exact_ = note->rest == "exactly";
        break;
      case AllocatorNote::Kind::empty_cache:
        empty_caches_.push_back(*annotation.entry);
        break;
      case AllocatorNote::Kind::retry:
        retries_.push_back(*annotation.entry);
        break;
      case AllocatorNote::Kind::settings:
        set_a_threshold_ |=
            note->rest.find("garbage_collection_threshold") != std::string_view::npos;
        break;  // and a marker among the requests (recorded_markers.hpp)
      case AllocatorNote::Kind::release:
      case AllocatorNote::Kind::done:
      case AllocatorNote::Kind::limit:
      case AllocatorNote::Kind::retire:
        break;  // a marker among the requests (recorded_markers.hpp)
      case AllocatorNote::Kind::device:
        if (const auto bytes = parse_number<std::uint64_t>(note->rest)) {
          device_memory_ = Bytes{*bytes};
        }
        break;
      case AllocatorNote::Kind::pool:
        if (const auto pool = noted_pool(note->rest)) {
          pools_.insert(*pool);
        }
        break;
    }
  }
  std::ranges::sort(empty_caches_);
  std::ranges::sort(retries_);
}

ReleaseCause AllocatorCalls::cause_of_release(EntryRange entries) const {
  if (is_exact_ && *noted_from_ <= entries.begin) {
    return ReleaseCause::allocation;  // what calls released ends with them
  }
  if (has_any(empty_caches_, entries)) {
    return ReleaseCause::empty_cache;
  }
  const bool is_noted = noted_from_ && *noted_from_ <= entries.begin;
  return is_noted || has_any(retries_, entries) ? ReleaseCause::allocation : ReleaseCause::unknown;
}

}  // namespace highwater
