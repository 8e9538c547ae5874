// Finds the items of a table by what they hold, where the table numbers them from 0.
//
// Open addressing with eight bytes a slot: a number and half of a hash, so that most other items
// are told apart without a look at them, and nothing is hashed again when the index grows. Hashes
// start from a number that differs between processes, so that no file can be made to collide; the
// items' numbers do not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace highwater {

/// Where hashes of this process start.
std::uint64_t hash_seed();

/// `seed` and one more number of an item.
inline std::uint64_t hash_with(std::uint64_t seed, std::uint64_t value) {
  const std::uint64_t product = (seed ^ value) * 0x9e3779b97f4a7c15ULL;
  return product ^ (product >> 32U) ^ (seed << 7U);
}

class HashIndex {
 public:
  /// The number of the item that `is_wanted` says yes to, among those added with this hash; else
  /// the one that `add` has appended to the table. Where that throws, nothing is added.
  template <class IsWanted, class Add>
  std::uint32_t find_or_add(std::uint64_t hash, IsWanted is_wanted, Add add) {
    if (2 * (size_ + 1) > slots_.size()) {
      grow();
    }
    const auto half = static_cast<std::uint32_t>(hash);
    for (std::size_t at = half & mask();; at = (at + 1) & mask()) {
      Slot& slot = slots_[at];
      if (slot.number == kEmpty) {
        slot = {half, add()};
        ++size_;
        return slot.number;
      }
      if (slot.hash == half && is_wanted(slot.number)) {
        return slot.number;
      }
    }
  }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffff;  ///< no Id has it
  static constexpr std::size_t kFirstSlots = 64;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = kEmpty;
  };

  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }

  void grow() {
    const std::size_t more = slots_.empty() ? kFirstSlots : 2 * slots_.size();
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(more));
    for (const Slot& moved : old) {
      if (moved.number != kEmpty) {
        std::size_t at = moved.hash & mask();
        while (slots_[at].number != kEmpty) {
          at = (at + 1) & mask();
        }
        slots_[at] = moved;
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace highwater
