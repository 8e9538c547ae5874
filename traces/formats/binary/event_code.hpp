// Kinds of events as files number them. A number never changes its meaning, so that old files can
// be read: a kind that came later has the last one, wherever it stands among the others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "traces/event.hpp"

namespace highwater {

inline constexpr std::array<EventKind, 16> kEventsByCode{EventKind::alloc,
                                                         EventKind::free,
                                                         EventKind::record_stream,
                                                         EventKind::stream_done,
                                                         EventKind::all_streams_done,
                                                         EventKind::empty_cache,
                                                         EventKind::reset_peaks,
                                                         EventKind::pool_begin,
                                                         EventKind::pool_end,
                                                         EventKind::pool_release,
                                                         EventKind::set_settings,
                                                         EventKind::step,
                                                         EventKind::phase,
                                                         EventKind::op,
                                                         EventKind::memory_limit,
                                                         EventKind::pool_retire};

inline std::uint8_t code_of(EventKind kind) {
  const auto* const found = std::ranges::find(kEventsByCode, kind);
  return static_cast<std::uint8_t>(found - kEventsByCode.begin());
}

}  // namespace highwater
