// A what-if checks itself: what the requests of a recording come to under its own settings.
//
// A recording does not tell all that decides a replay under other settings (tools/docs/limits.md).
// What it leaves open shows where its requests, replayed as other settings would be, reserve
// something else than was recorded: every answer about other settings, limits or edits carries that
// error, and one that is more than 1 % off says so in its first line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/studies/runs/replay_run.hpp"

namespace highwater {

/// Peak reserved of `requests` under the recorded process's `own` options, / recorded - 1; absent
/// where the recording shows no memory. @throws InputError as replay()
std::optional<double> own_settings_error(const RequestTrace& requests, const ReplayOptions& own,
                                         const Fidelity& recorded);

/// ", because ..." where a replay of the requests of a recording has a reason to differ from it.
std::string_view why_replay_differs(const DeviceReplay& replay);

/// The first line of an answer whose error is above 1 %.
std::optional<std::string> uncertainty(const DeviceReplay& replay);

}  // namespace highwater
