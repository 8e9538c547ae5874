#include "tools/html/pool_areas.hpp"

#include <algorithm>
#include <utility>

#include "sim/replay/trace_driver.hpp"

namespace highwater {

void PoolAreaRecorder::on_begin(const CachingAllocator& allocator, const TraceDriver& /*driver*/) {
  note(allocator, 0);
}

void PoolAreaRecorder::on_state(const Event& event, AllocationStatus /*status*/,
                                const CachingAllocator& allocator, const TraceDriver& driver) {
  if (event.is_operation()) {
    note(allocator, std::max<std::uint64_t>(driver.operations(), 1) - 1);
  }
}

void PoolAreaRecorder::note(const CachingAllocator& allocator, std::uint64_t operation) {
  const std::vector<std::uint64_t>& moments = *moments_;
  while (next_ < moments.size() && moments[next_] < operation) {
    ++next_;
  }
  if (next_ == moments.size() || moments[next_] != operation) {
    return;
  }
  for (const PoolHolding& holding : allocator.holdings()) {
    std::vector<Bytes>& area = reserved_[holding.owner];
    area.resize(moments.size());
    area[next_] = holding.reserved;
  }
}

std::vector<PoolArea> PoolAreaRecorder::take() {
  std::vector<PoolArea> areas;
  for (auto& [owner, reserved] : reserved_) {
    const bool holds = std::ranges::any_of(reserved, [](Bytes each) { return each > Bytes{}; });
    if (holds || owner.is_default()) {
      areas.push_back({owner, std::move(reserved)});
    }
  }
  return areas.size() > 1 ? std::move(areas) : std::vector<PoolArea>{};
}

}  // namespace highwater
