#include "allocator/invariants.hpp"

#include <array>

#include <fmt/format.h>

namespace highwater {
namespace {

/// What the statistics must show, counted from the memory map.
struct Tally {
  std::int64_t allocation = 0;
  std::int64_t active = 0;
  std::int64_t segment = 0;
  std::int64_t inactive_split = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t active_bytes = 0;
  std::int64_t requested_bytes = 0;
  std::int64_t reserved_bytes = 0;
  std::int64_t inactive_split_bytes = 0;
};

class Checker {
 public:
  void check_map(const MemoryMap& map) {
    Address reached;
    for (const MapSegment& segment : map.segments) {
      if (segment.address < reached) {
        fail(segment, "overlaps the previous segment");
      }
      reached = segment.address + segment.size;
      check_segment(segment);
    }
  }

  void check_statistics(const Statistics& stats) {
    for (const PoolKind kind : {PoolKind::small, PoolKind::large}) {
      compare_pool(stats, kind, tallies_[static_cast<std::size_t>(kind)]);
    }
    for (std::size_t i = 0; i < kStatCount; ++i) {
      check_stat(stats, static_cast<Stat>(i));
    }
  }

  std::vector<std::string> take() { return std::move(violations_); }

 private:
  void fail(const MapSegment& segment, const std::string& what) {
    violations_.push_back(fmt::format("segment {:#x}: {}", segment.address.value(), what));
  }

  void check_segment(const MapSegment& segment) {
    Tally& tally = tallies_[static_cast<std::size_t>(segment.kind)];
    tally.segment += segment.is_expandable ? 0 : 1;
    tally.reserved_bytes += static_cast<std::int64_t>(segment.size.count());
    if (segment.size.count() == 0 || segment.size.count() % (1U << 20) != 0) {
      fail(segment, fmt::format("size {} is not a whole number of MiB", segment.size.count()));
    }
    if (!segment.is_expandable && segment.kind == PoolKind::small &&
        segment.size.count() != 2U << 20) {
      fail(segment, "a small segment is not 2 MiB");
    }
    Address reached = segment.address;
    bool free_before = false;
    for (const MapBlock& block : segment.blocks) {
      if (block.address != reached) {
        fail(segment, fmt::format("gap or overlap at {:#x}", block.address.value()));
      }
      reached = block.address + block.size;
      const bool is_free = block.state == BlockState::inactive;
      if (is_free && free_before) {
        fail(segment, fmt::format("two free neighbours at {:#x}", block.address.value()));
      }
      free_before = is_free;
      check_block(segment, block);
      count(segment, block, tally);
    }
    if (reached != segment.address + segment.size) {
      fail(segment, "the blocks do not fill the segment");
    }
  }

  void check_block(const MapSegment& segment, const MapBlock& block) {
    if (block.size.count() == 0 || block.size.count() % 512 != 0) {
      fail(segment, fmt::format("block size {} is not a multiple of 512", block.size.count()));
    }
    if (block.requested > block.size) {
      fail(segment, fmt::format("block {:#x} is smaller than its request", block.address.value()));
    }
    const bool is_free = block.state == BlockState::inactive;
    if (is_free != (block.requested.count() == 0) || is_free == block.handle.has_value()) {
      fail(segment, fmt::format("block {:#x} is both free and in use", block.address.value()));
    }
  }

  static void count(const MapSegment& segment, const MapBlock& block, Tally& tally) {
    const auto size = static_cast<std::int64_t>(block.size.count());
    if (block.state == BlockState::inactive) {
      if (!segment.is_expandable && segment.blocks.size() > 1) {
        ++tally.inactive_split;
        tally.inactive_split_bytes += size;
      }
      return;
    }
    ++tally.active;
    tally.active_bytes += size;
    tally.requested_bytes += static_cast<std::int64_t>(block.requested.count());
    if (block.state == BlockState::active_allocated) {
      ++tally.allocation;
      tally.allocated_bytes += size;
    }
  }

  void compare(std::string_view name, std::int64_t statistic, std::int64_t counted) {
    if (statistic != counted) {
      violations_.push_back(
          fmt::format("{}: the statistics show {}, the map {}", name, statistic, counted));
    }
  }

  void compare_pool(const Statistics& stats, PoolKind kind, const Tally& tally) {
    const auto current = [&](Stat stat) { return stats.of(stat, kind).current; };
    compare("allocation", current(Stat::allocation), tally.allocation);
    compare("active", current(Stat::active), tally.active);
    compare("segment", current(Stat::segment), tally.segment);
    compare("inactive_split", current(Stat::inactive_split), tally.inactive_split);
    compare("allocated_bytes", current(Stat::allocated_bytes), tally.allocated_bytes);
    compare("active_bytes", current(Stat::active_bytes), tally.active_bytes);
    compare("requested_bytes", current(Stat::requested_bytes), tally.requested_bytes);
    compare("reserved_bytes", current(Stat::reserved_bytes), tally.reserved_bytes);
    compare("inactive_split_bytes", current(Stat::inactive_split_bytes),
            tally.inactive_split_bytes);
  }

  void check_stat(const Statistics& stats, Stat stat) {
    const StatValue all = stats.all(stat);
    const StatValue small = stats.of(stat, PoolKind::small);
    const StatValue large = stats.of(stat, PoolKind::large);
    for (const StatValue& value : {all, small, large}) {
      if (value.peak < value.current || value.current < 0 || value.freed < 0) {
        violations_.push_back(fmt::format("{}: current {}, peak {}, allocated {}, freed {}",
                                          to_string(stat), value.current, value.peak,
                                          value.allocated, value.freed));
      }
    }
  }

  std::array<Tally, 2> tallies_{};
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> check_invariants(const MemoryMap& map, const Statistics& statistics) {
  Checker checker;
  checker.check_map(map);
  checker.check_statistics(statistics);
  return checker.take();
}

}  // namespace highwater
