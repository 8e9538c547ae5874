#include "traces/recording.hpp"

namespace highwater {

std::string_view to_string(RecordedAction action) {
  constexpr std::array<std::string_view, kRecordedActionCount> kNames{
      "alloc",       "free_requested", "free_completed", "segment_alloc", "segment_free",
      "segment_map", "segment_unmap",  "snapshot",       "oom",           "ignored"};
  return kNames.at(static_cast<std::size_t>(action));
}

std::string_view to_string(BlockState state) {
  constexpr std::array<std::string_view, 3> kNames{"inactive", "active_pending_free",
                                                   "active_allocated"};
  return kNames.at(static_cast<std::size_t>(state));
}

}  // namespace highwater
