// The size rules of the allocator, as pure functions.
// Source: DeviceCachingAllocator::round_size, get_allocation_size, should_split of PyTorch 2.6.0.
#pragma once

#include <algorithm>
#include <bit>

#include "allocator/settings/constants.hpp"
#include "allocator/settings/settings.hpp"
#include "traces/units.hpp"

namespace highwater {

enum class PoolKind : std::uint8_t { small, large };

/// The entry of roundup_power2_divisions that is used for `size` (> 0).
constexpr std::size_t division_index(Bytes size) {
  const int log2 = static_cast<int>(std::bit_width(size.count())) - 1;
  return static_cast<std::size_t>(std::clamp(log2 - 20, 0, 15));
}

/// `size` rounded up to a multiple of the distance between two of the `divisions` steps that divide
/// its power-of-two interval; powers of two stay. Both arguments > 0, `divisions` a power of two.
constexpr Bytes roundup_power2_next_division(Bytes size, std::uint64_t divisions) {
  if (std::has_single_bit(size.count())) {
    return size;
  }
  const std::uint64_t power = std::bit_floor(size.count());
  const std::uint64_t step = power >> (std::bit_width(divisions) - 1);
  if (step == 0) {  // divisions from 2^55 on: 512 times these wraps to 0 in round_size
    return Bytes{power << 1};
  }
  return round_up(size, Bytes{step});
}

/// The block size for a request of `size` bytes.
constexpr Bytes round_size(Bytes size, const Settings& settings) {
  if (size < kMinBlockSize) {
    return kMinBlockSize;
  }
  const std::uint64_t divisions = settings.roundup_power2_divisions[division_index(size)];
  if (divisions > 1 && size > kMinBlockSize * divisions) {
    return roundup_power2_next_division(size, divisions);
  }
  return Bytes{(size.count() + 511) & ~std::uint64_t{511}};
}

constexpr PoolKind pool_kind(Bytes rounded) {
  return rounded <= kSmallSize ? PoolKind::small : PoolKind::large;
}

/// The size of a new segment for a block of `rounded` bytes ("allocation size" in PyTorch).
constexpr Bytes segment_size(Bytes rounded, const Settings& settings) {
  if (rounded <= kSmallSize) {
    return kSmallBuffer;
  }
  if (rounded < kMinLargeAlloc) {
    return settings.large_segment_size;
  }
  return round_up(rounded, kRoundLarge);
}

/// Page ("chunk") by which expandable segments of a pool grow.
constexpr Bytes expandable_page(PoolKind kind, const Settings& settings) {
  return kind == PoolKind::small ? kSmallBuffer : settings.large_segment_size;
}

/// What splitting depends on beside sizes.
struct SplitRule {
  Bytes max_split_size;
  bool is_expandable = false;  ///< the request is one that expandable segments serve
};

/// Whether a block that serves `rounded` bytes and would leave `remaining` is split.
constexpr bool should_split(PoolKind kind, Bytes rounded, Bytes remaining, SplitRule rule) {
  if (kind == PoolKind::small || rule.is_expandable) {
    return remaining >= kMinBlockSize;
  }
  return rounded < rule.max_split_size && remaining > kSmallSize;
}

constexpr bool should_split(PoolKind kind, Bytes rounded, Bytes remaining,
                            const Settings& settings) {
  return should_split(kind, rounded, remaining,
                      SplitRule{settings.max_split_size, settings.expandable_segments});
}

}  // namespace highwater
