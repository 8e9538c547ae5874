// Where a replay first shows a property.
#pragma once

#include <cstddef>
#include <optional>

#include "sim/reduction/kept_property.hpp"
#include "sim/replay/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// How many events, from the first on, it takes until peaks show `property`; absent when a replay
/// to the end, or to its first failure, does not. @throws InputError as replay()
std::optional<std::size_t> events_until_shown(const RequestTrace& trace,
                                              const ReplayOptions& options,
                                              const KeptProperty& property);

/// How many events it takes until a request fails. @throws InputError as replay()
std::optional<std::size_t> events_until_failure(const RequestTrace& trace,
                                                const ReplayOptions& options);

}  // namespace highwater
