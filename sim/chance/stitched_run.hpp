// One run on a simulated device, piece by piece.
#pragma once

#include <optional>
#include <vector>

#include "allocator/caching_allocator.hpp"
#include "allocator/simulated_device.hpp"
#include "sim/chance/piece.hpp"
#include "sim/replay/replay.hpp"

namespace highwater {

class StitchedRun {
 public:
  /// On the device of `options`, under its settings and limits.
  explicit StitchedRun(const ReplayOptions& options);

  /// False if memory ran out in it: the run ends there. @throws InputError if other blocks are live
  /// than the piece expects
  bool carry_out(const Piece& piece);

  [[nodiscard]] const CachingAllocator& allocator() const { return allocator_; }

  [[nodiscard]] Bytes peak(Stat stat) const;

  [[nodiscard]] Bytes reserved() const {
    return allocator_.statistics().current_bytes(Stat::reserved_bytes);
  }

 private:
  bool apply(const PieceRequest& request);
  void pass_on(const Piece& piece);

  SimulatedDevice device_;
  CachingAllocator allocator_;
  std::vector<BlockId> blocks_;  ///< by place
};

}  // namespace highwater
