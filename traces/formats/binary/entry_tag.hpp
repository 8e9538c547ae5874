// The tag byte of an entry record; binary_entries.hpp has the picture.
#pragma once

#include <cstdint>

namespace highwater {

enum class EntryTag : std::uint8_t {
  alloc,
  free_pair,
  free_requested,
  free_completed,
  other,
  other_pair,
  end,
};

namespace entry_tag {
constexpr unsigned kKindMask = 7;
constexpr unsigned kAddressShift = 3;
constexpr unsigned kShapeShift = 5;
constexpr unsigned kPairTimeShift = 3;
constexpr std::uint64_t kPairTimeGiven = 3;
constexpr unsigned kStackGuessed = 1U << 5U;
constexpr unsigned kDistanceGuessed = 1U << 6U;
constexpr unsigned kSameTime = 1U << 7U;
}  // namespace entry_tag

}  // namespace highwater
