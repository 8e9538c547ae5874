#include "sim/recordings/pool_evidence.hpp"

#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "allocator/size_policy.hpp"

namespace highwater {
namespace {

/// Follows the segments of private pools that are no expandable ones.
class SplitEvidence {
 public:
  SplitEvidence(const RecordedDevice& device, const Settings& settings)
      : device_(&device), settings_(&settings) {}

  /// Pools that left blocks whole which they would have split, and never split one.
  [[nodiscard]] std::set<PoolId> unsplit() {
    for (std::size_t i = 0; i < device_->entries.size(); ++i) {
      follow(device_->entries[i]);
    }
    for (const RecordedSegment& segment : device_->segments) {
      look_at(segment);
    }
    for (const PoolId pool : split_) {
      whole_.erase(pool);
    }
    return std::move(whole_);
  }

 private:
  struct Segment {
    Bytes size;
    PoolId pool;
    std::uint16_t stream = 0;
    std::optional<Bytes> used;  ///< by the block that begins with it, as it was rounded
  };

  void follow(const RecordedEntry& entry) {
    switch (entry.action) {
      case RecordedAction::segment_alloc:
        newest_ = entry.address;
        segments_[entry.address] = {entry.size, device_->pools[entry.pool], entry.stream,
                                    std::nullopt};
        break;
      case RecordedAction::segment_free:
        segments_.erase(entry.address);
        break;
      case RecordedAction::alloc:
        allocated(entry);
        break;
      case RecordedAction::free_completed:
        if (const auto found = segments_.find(entry.address); found != segments_.end()) {
          found->second.used.reset();
        }
        break;
      default:
        break;
    }
  }

  void allocated(const RecordedEntry& entry) {
    const auto above = segments_.upper_bound(entry.address);
    if (above == segments_.begin()) {
      return;
    }
    const auto& [begin, segment] = *std::prev(above);
    if (segment.size <= entry.address - begin || segment.pool.is_default()) {
      return;
    }
    const Bytes rounded = round_size(entry.size, *settings_);
    if (begin != entry.address) {
      split_.insert(segment.pool);
      return;
    }
    if (newest_ == begin && rest_would_serve(begin, segment, rounded)) {
      whole_.insert(segment.pool);
    }
    newest_ = Address{};
    std::prev(above)->second.used = rounded;
  }

  /// Whether another segment has a rest that would have been split off and handed out.
  [[nodiscard]] bool rest_would_serve(Address begin, const Segment& segment, Bytes rounded) const {
    for (const auto& [address, other] : segments_) {
      const PoolKind kind = pool_kind(rounded);
      if (address != begin && other.used && other.pool == segment.pool &&
          other.stream == segment.stream && pool_kind(*other.used) == kind &&
          *other.used <= other.size &&
          should_split(kind, *other.used, other.size - *other.used, *settings_) &&
          rounded <= other.size - *other.used && rounded < settings_->max_split_size &&
          other.size < settings_->max_split_size) {
        return true;
      }
    }
    return false;
  }

  void look_at(const RecordedSegment& segment) {
    const PoolKind kind = segment.is_large ? PoolKind::large : PoolKind::small;
    if (segment.blocks.size() > 1) {
      split_.insert(segment.pool);
    }
    for (const RecordedBlock& block : segment.blocks) {
      const Bytes rounded = round_size(block.requested, *settings_);
      const bool is_whole = !segment.pool.is_default() && !segment.is_expandable &&
                            block.state == BlockState::active_allocated && rounded < block.size;
      if (is_whole && should_split(kind, rounded, block.size - rounded, *settings_)) {
        whole_.insert(segment.pool);
      }
    }
  }

  const RecordedDevice* device_;
  const Settings* settings_;
  std::map<Address, Segment> segments_;
  Address newest_;  ///< the segment that was made for the next allocation
  std::set<PoolId> whole_;
  std::set<PoolId> split_;
};

}  // namespace

std::map<PoolId, PoolOptions> pool_options(const RecordedDevice& device,
                                           const AllocatorCalls& calls, const Settings& settings) {
  std::map<PoolId, PoolOptions> options = calls.pools();
  const bool has_names = device.pools.size() > 1;
  if (has_names && !calls.knows_pools()) {
    for (const PoolId pool : SplitEvidence(device, settings).unsplit()) {
      options[pool].no_split = true;
    }
  }
  return options;
}

}  // namespace highwater
