// Blocks that are older than a recording, as far as its entries and its final segments show them.
// Source: SNAPSHOT_FORMAT sections 4 and 5 of the project's documentation.
#pragma once

#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "sim/recordings/initial_state.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// Those that waited for other streams when the recording began, without ids: their free_completed
/// has no free_requested, or the final state still has them waiting and no entry mentions them.
std::vector<OlderBlock> older_pending_blocks(const RecordedDevice& device);

/// The final blocks that were in use, or waited for other streams.
class FinalBlocks {
 public:
  /// `device` must outlive them.
  explicit FinalBlocks(const RecordedDevice& device);

  /// Null if none begins there.
  [[nodiscard]] const RecordedBlock* at(Address address) const;

  [[nodiscard]] const std::vector<const RecordedBlock*>& in_order() const { return in_order_; }

 private:
  std::vector<const RecordedBlock*> in_order_;
  boost::unordered_flat_map<std::uint64_t, const RecordedBlock*> by_address_;
};

}  // namespace highwater
