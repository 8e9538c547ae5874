// The shortest program that still shows what a trace shows: a peak, fragmentation, a failure.
//
// The trace is cut where it first shows the property. Then passes leave out allocations and other
// operations, move what is left to the default stream and pool, and simplify sizes, until a round
// of them changes nothing: then no operation can be left out alone (1-minimal, in the words of
// delta debugging).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

#include "sim/reduction/kept_property.hpp"
#include "sim/replay/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// How large a program is.
struct ProgramSize {
  std::uint64_t operations = 0;
  std::uint64_t allocations = 0;
  Bytes requested;  ///< by all allocations

  bool operator==(const ProgramSize&) const = default;
};

struct Reduction {
  RequestTrace trace;     ///< what is left, with the call sites of its requests; no markers
  KeptProperty property;  ///< with the cause of a failure
  ProgramSize before;     ///< up to where the property showed
  ProgramSize after;
  ReplayResult result;  ///< of what is left
  std::uint64_t programs_tried = 0;
  std::uint64_t operations_tried = 0;  ///< replayed in all
  bool is_minimal = false;             ///< false where the work allowed did not suffice
};

/// What to look for; of a failure the cause is found in `trace`.
struct WantedFailure {};

using WantedProperty = std::variant<WantedFailure, KeptPeak, KeptFragmentation>;

struct ReductionOptions {
  ReplayOptions replay;
  DeviceKnowledge device;  ///< tells causes of a failure apart
  WantedProperty wanted;
  std::uint64_t most_operations = 20'000'000'000;  ///< replayed in all
  /// Called after each pass with the operations that are left.
  std::function<void(std::uint64_t)> progress = [](std::uint64_t) {};
};

/// Absent when a replay of `trace` under `options` does not show what is wanted.
/// @throws InputError as replay()
std::optional<Reduction> reduce(const RequestTrace& trace, const ReductionOptions& options);

}  // namespace highwater
