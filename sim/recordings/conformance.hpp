// Replays a conformance vector and writes what the model did in the format of the vectors.
//
// The vectors were recorded from the real allocator; equal text means equal decisions. The format
// is described in tests/data/conformance/README.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "allocator/settings/version.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

struct ConformanceOutput {
  std::vector<std::string> expected;  ///< allocations, statistics, memory map
  std::vector<std::string> events;    ///< every decision, as OP ACTION ADDRESS SIZE STREAM
};

/// @throws SettingsError for a `conf` line that the version refuses, InputError for a trace that
/// PyTorch would assert on.
ConformanceOutput run_conformance(const RequestTrace& trace, const VersionPreset& version);

struct LineDifference {
  std::size_t line = 0;  ///< from 1
  std::string expected;  ///< empty: missing
  std::string actual;    ///< empty: missing
};

/// The first line in which two lists differ, nothing when they are equal.
std::optional<LineDifference> first_difference(const std::vector<std::string>& expected,
                                               const std::vector<std::string>& actual);

/// The event lines with each run of one operation sorted whose order comes from a hash table in
/// the real allocator: completed frees of several streams, segments released from several pools.
std::vector<std::string> normalised_events(std::vector<std::string> lines);

}  // namespace highwater
