#include "sim/recordings/pool_evidence.hpp"

#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "allocator/size_policy.hpp"

namespace highwater {
namespace {

/// Follows the pages of expandable segments in private pools. Where no block is split, each begins
/// with pages that were mapped at once; a new one follows the last although that left room.
class PageEvidence {
 public:
  explicit PageEvidence(const Settings& settings) : settings_(&settings) {}

  void follow(const RecordedEntry& entry, PoolId pool) {
    switch (entry.action) {
      case RecordedAction::segment_map:
        begins_.insert(entry.address);
        if (!newest_ || entry.address < *newest_) {
          newest_ = entry.address;
        }
        break;
      case RecordedAction::alloc:
        if (!pool.is_default()) {
          allocated(entry, pool);
        }
        newest_.reset();
        break;
      case RecordedAction::free_completed:
        live_.erase(entry.address);
        break;
      default:
        break;
    }
  }

  [[nodiscard]] const std::set<PoolId>& whole() const { return whole_; }

  [[nodiscard]] const std::set<PoolId>& split() const { return split_; }

 private:
  struct Block {
    Bytes rounded;
    PoolId pool;
    std::uint16_t stream = 0;
    Address pages_end;  ///< of the pages that it was mapped with; where nothing was, its own end
  };

  void allocated(const RecordedEntry& entry, PoolId pool) {
    const Bytes rounded = round_size(entry.size, *settings_);
    const auto after = live_.lower_bound(entry.address);
    const Block* const before = after == live_.begin() ? nullptr : &std::prev(after)->second;
    const bool is_new = newest_ == entry.address;
    if (is_new && before != nullptr && before->pool == pool && before->stream == entry.stream &&
        before->pages_end == entry.address &&
        std::prev(after)->first + before->rounded < entry.address) {
      whole_.insert(pool);
    }
    if (!begins_.contains(entry.address)) {
      split_.insert(pool);
    }
    const Bytes page = expandable_page(pool_kind(rounded), *settings_);
    live_[entry.address] = {rounded, pool, entry.stream,
                            entry.address + (is_new ? round_up(rounded, page) : rounded)};
  }

  const Settings* settings_;
  std::set<Address> begins_;       ///< of pages that were mapped at once
  std::optional<Address> newest_;  ///< that were mapped for the next allocation
  std::map<Address, Block> live_;  ///< of private pools
  std::set<PoolId> whole_;
  std::set<PoolId> split_;
};

/// Follows the segments of private pools that are no expandable ones.
class SplitEvidence {
 public:
  SplitEvidence(const RecordedDevice& device, const Settings& settings)
      : device_(&device), settings_(&settings), pages_(settings) {}

  /// Pools that left blocks whole which they would have split, and never split one.
  [[nodiscard]] std::set<PoolId> unsplit() {
    for (std::size_t i = 0; i < device_->entries.size(); ++i) {
      const RecordedEntry& entry = device_->entries[i];
      follow(entry);
      pages_.follow(entry, device_->pools[entry.pool]);
    }
    for (const RecordedSegment& segment : device_->segments) {
      look_at(segment);
    }
    whole_.insert(pages_.whole().begin(), pages_.whole().end());
    for (const std::set<PoolId>& split :
         {split_, is_paged() ? pages_.split() : std::set<PoolId>{}}) {
      for (const PoolId pool : split) {
        whole_.erase(pool);
      }
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

  /// Whether blocks lie in pages, whose begins are known.
  [[nodiscard]] bool is_paged() const { return settings_->expandable_segments; }

  void look_at(const RecordedSegment& segment) {
    const PoolKind kind = segment.is_large ? PoolKind::large : PoolKind::small;
    if (segment.blocks.size() > 1 && !segment.is_expandable) {
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
  PageEvidence pages_;
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
