// What the live blocks of a replay are for, in bytes.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.hpp"
#include "traces/event.hpp"

namespace highwater {

/// Bytes by what they are for. What blocks hold beyond what was asked for is `rounding`, so that
/// the sum is what is allocated.
struct CategoryBytes {
  std::array<Bytes, kCategoryCount> requested{};  ///< by Category
  Bytes rounding;                                 ///< block sizes minus what was asked for

  [[nodiscard]] Bytes of(Category category) const {
    return requested[static_cast<std::size_t>(category)];
  }

  [[nodiscard]] Bytes total() const {
    Bytes sum = rounding;
    for (const Bytes part : requested) {
      sum += part;
    }
    return sum;
  }

  bool operator==(const CategoryBytes&) const = default;
};

/// Follows the events of a replay.
class LiveCategories {
 public:
  explicit LiveCategories(std::size_t allocations) : allocations_(allocations) {}

  void follow(const Event& event, AllocationStatus status) {
    if (event.kind == EventKind::alloc && status == AllocationStatus::ok) {
      allocations_[event.allocation.index()] = {event.bytes(), event.category, true};
      live_.requested[static_cast<std::size_t>(event.category)] += event.bytes();
    } else if (event.kind == EventKind::free) {
      Allocation& freed = allocations_[event.allocation.index()];
      if (std::exchange(freed.is_live, false)) {
        live_.requested[static_cast<std::size_t>(freed.category)] -= freed.bytes;
      }
    }
  }

  /// From now on the block of `id` is that of `other`.
  void pass(AllocationId id, AllocationId other) {
    allocations_[other.index()] = std::exchange(allocations_[id.index()], {});
  }

  /// Where blocks of `allocated` bytes are live.
  [[nodiscard]] CategoryBytes breakdown(Bytes allocated) const {
    CategoryBytes result = live_;
    result.rounding = allocated - live_.total();
    return result;
  }

 private:
  struct Allocation {
    Bytes bytes;
    Category category = Category::unknown;
    bool is_live = false;
  };

  std::vector<Allocation> allocations_;  ///< by AllocationId
  CategoryBytes live_;                   ///< without the rounding
};

}  // namespace highwater
