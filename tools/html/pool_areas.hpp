// What each owner's pools take from the device at chosen moments of a run: areas over time, which
// add up to the curve of reserved bytes there.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/replay/state_observer.hpp"

namespace highwater {

struct PoolArea {
  PoolId owner;
  std::vector<Bytes> reserved;  ///< by moment
};

class PoolAreaRecorder : public StateObserver {
 public:
  /// `moments` are operations, ascending; each shows the state after it. They must outlive the
  /// recorder.
  explicit PoolAreaRecorder(const std::vector<std::uint64_t>& moments) : moments_(&moments) {}

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override;
  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override;

  /// The common pools first, then the private ones by their ids; empty where there are none.
  std::vector<PoolArea> take();

 private:
  void note(const CachingAllocator& allocator, std::uint64_t operation);

  const std::vector<std::uint64_t>* moments_;
  std::size_t next_ = 0;
  std::map<PoolId, std::vector<Bytes>> reserved_;
};

}  // namespace highwater
