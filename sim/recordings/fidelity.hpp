// Fidelity: a recording replayed as it was recorded, every decision compared with the real one.
//
// The model gets the requests derived from the recording, the recorded settings, and a device that
// answers as the recorded one did. Addresses, segment entries and the final segments are outputs of
// the model and are compared one by one. After a wrong decision the recorded one is put in its
// place, so that it counts once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/settings/version.hpp"
#include "sim/recordings/derivation.hpp"
#include "sim/replay/replay.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// The first decision that differs from the recording.
struct Divergence {
  std::size_t entry = 0;    ///< index into device_traces[device]
  std::string description;  ///< what was recorded, what the model did, what was free around it
};

struct Fidelity {
  std::uint64_t segment_events_recorded = 0;
  std::uint64_t segment_events_matched = 0;
  std::uint64_t alloc_addresses_compared = 0;
  std::uint64_t alloc_addresses_matched = 0;
  std::uint64_t final_segments_compared = 0;
  std::uint64_t final_segments_matched = 0;
  std::uint64_t initial_blocks_doubtful = 0;
  bool corrections_stopped = false;  ///< after kMaxCorrections: a search for each costs too much
  std::uint64_t resyncs = 0;         ///< times the recorded state was put in place of the model's
  std::uint64_t snapshots_checked = 0;  ///< earlier snapshot calls: active bytes to compare with
  std::uint64_t snapshots_matched = 0;
  Bytes peak_reserved_recorded;  ///< from the final segments and the segment entries alone
  std::optional<Divergence> first_divergence;

  [[nodiscard]] bool is_perfect() const {
    return segment_events_matched == segment_events_recorded &&
           alloc_addresses_matched == alloc_addresses_compared &&
           final_segments_matched == final_segments_compared;
  }
};

struct FidelityReplay {
  ReplayResult result;
  Fidelity fidelity;
  std::vector<std::size_t> empty_caches;  ///< those of possible_empty_caches that did happen
};

class StateObserver;

/// `observer` sees every state of the replay (state_observer.hpp).
FidelityReplay replay_as_recorded(const RecordedDevice& device, const DerivedTrace& derived,
                                  const Settings& settings, const VersionPreset& version,
                                  DecisionDetail decisions = DecisionDetail::none,
                                  StateObserver* observer = nullptr);

/// The highest reserved memory that the recording shows.
Bytes recorded_peak_reserved(const RecordedDevice& device);

}  // namespace highwater
