// How much memory a recorded process could get, as `highwater record` notes or as the process's own
// failures show.
//
// No snapshot of PyTorch names the device's memory or the limit set by a memory fraction, but a
// request that failed bounds them: the process held some memory, and was refused some more. What
// the device had free at that moment (the `oom` entry) shows which of the two refused.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/recordings/fidelity.hpp"
#include "traces/units.hpp"

namespace highwater {

struct RecordedLimit {
  enum class Source : std::uint8_t {
    noted,    ///< `highwater record` notes what the device had for this process
    device,   ///< the device had too little left: what it had for this process is known exactly
    fraction  ///< the device had enough: a limit of the process refused (memory fraction)
  };

  Source source = Source::device;
  Bytes at_least;  ///< reserved memory that the process certainly could have
  Bytes below;     ///< reserved memory that it could not have
};

/// Bounds a replay as `limit` shows: by the device's capacity or by the limit of the process. Only
/// under the latter is garbage collected.
void bound_as_shown(const RecordedLimit& limit, ReplayOptions& options);

/// Whether it is this limit that bounds `options`.
bool is_bound_as_shown(const RecordedLimit& limit, const ReplayOptions& options);

/// `noted`: what the device had, if that is known. Otherwise absent when nothing failed, or when
/// the model did not run out of memory where the recording did.
std::optional<RecordedLimit> recorded_limit(std::optional<Bytes> noted,
                                            const FidelityReplay& as_recorded);

}  // namespace highwater
