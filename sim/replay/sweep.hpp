// One trace replayed under many settings and limits, on all cores.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "sim/replay/replay.hpp"

namespace highwater {

/// One result per entry of `cases`, in their order, without final memory maps and timelines: a
/// sweep of hundreds of cases stays small. `done` is called with the number of finished cases, one
/// call at a time.
/// @throws InputError for a trace that PyTorch would assert on
/// @pre no two cases share an observer
std::vector<ReplayResult> sweep(
    const RequestTrace& trace, std::span<const ReplayOptions> cases,
    const std::function<void(std::size_t)>& done = [](std::size_t) {});

}  // namespace highwater
