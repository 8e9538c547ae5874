#include "tools/studies/runs/own_settings.hpp"

#include <cmath>

#include <fmt/format.h>

namespace highwater {
namespace {

constexpr double kErrorTold = 0.01;

}  // namespace

std::optional<double> own_settings_error(const RequestTrace& requests, const ReplayOptions& own,
                                         const Fidelity& recorded) {
  if (recorded.peak_reserved_recorded == Bytes{0}) {
    return std::nullopt;
  }
  const Bytes replayed = replay(requests, own).peak.reserved;
  return static_cast<double>(replayed.count()) /
             static_cast<double>(recorded.peak_reserved_recorded.count()) -
         1;
}

std::string_view why_replay_differs(const DeviceReplay& replay) {
  return replay.derivation && replay.derivation->initial_blocks > 0
             ? ", because allocations before the recording are placed differently"
             : "";
}

std::optional<std::string> uncertainty(const DeviceReplay& replay) {
  const double error = replay.own_settings_error.value_or(0);
  if (std::abs(error) <= kErrorTold) {
    return std::nullopt;
  }
  const std::string_view why = why_replay_differs(replay);
  return fmt::format(
      "uncertain by {:.1f} %: under the recorded settings the same requests reserve that much {} "
      "than was recorded{}",
      100 * std::abs(error), error > 0 ? "more" : "less",
      why.empty() ? ", since a recording does not tell all" : why);
}

}  // namespace highwater
