// The free blocks of one pool on one stream, ordered by (size, address).
//
// PyTorch keeps them in a std::set; the order is the same here, the structure is not. Sizes fall
// into classes (exact below 16 KiB, then 32 per power of two), a bitmap finds the next class that
// is not empty, and a class holds its few blocks in a sorted array. So the usual search, insertion
// and removal touch two or three cache lines and allocate nothing.
//
//   class     512  1024 ...  16 KiB  16.5 KiB ...          each class, largest block first:
//   bitmap      1     0        1        0                  [1 MiB @a] [1008 KiB @c] [1008 KiB @b]
//                                                                           smallest, lowest last ^
//
// Invariant: a class beyond kMaxSorted blocks is a balanced tree instead, so that no operation is
// worse than logarithmic in the number of blocks.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "allocator/block.hpp"
#include "allocator/constants.hpp"
#include "traces/address.hpp"
#include "traces/units.hpp"

namespace highwater {

/// A free block as the list orders it.
struct FreeEntry {
  std::uint64_t size = 0;
  std::uint64_t address = 0;
  BlockId block;

  std::strong_ordering operator<=>(const FreeEntry& other) const {
    const auto by_size = size <=> other.size;
    return by_size != 0 ? by_size : address <=> other.address;
  }

  bool operator==(const FreeEntry& other) const {
    return size == other.size && address == other.address;
  }
};

namespace detail {

/// The blocks of one size class.
class SizeClass {
 public:
  [[nodiscard]] bool empty() const { return sorted_.empty() && !tree_; }

  void insert(const FreeEntry& entry);
  void erase(const FreeEntry& entry);

  /// The first entry not before `key`; nothing when all are before it.
  [[nodiscard]] const FreeEntry* lower_bound(const FreeEntry& key) const;
  /// The last entry before `key`.
  [[nodiscard]] const FreeEntry* before(const FreeEntry& key) const;
  [[nodiscard]] const FreeEntry* first() const;
  [[nodiscard]] const FreeEntry* last() const;

 private:
  static constexpr std::size_t kMaxSorted = 256;

  std::vector<FreeEntry> sorted_;  ///< descending, so that taking the best fit is a pop
  std::unique_ptr<std::set<FreeEntry>> tree_;
};

}  // namespace detail

class FreeList {
 public:
  void insert(const FreeEntry& entry);
  void erase(const FreeEntry& entry);

  /// Best fit: the smallest block of `size` or more, the lowest address among equals.
  [[nodiscard]] const FreeEntry* lower_bound(Bytes size) const;
  /// The entry that follows or precedes `entry` (which need not be in the list).
  [[nodiscard]] const FreeEntry* next(const FreeEntry& entry) const;
  [[nodiscard]] const FreeEntry* previous(const FreeEntry& entry) const;

  [[nodiscard]] const FreeEntry* first() const { return first_from(0); }

  [[nodiscard]] const FreeEntry* last() const;

  /// All entries in order, as a copy: for callers that change the list while they visit it.
  [[nodiscard]] std::vector<FreeEntry> snapshot() const;

 private:
  static constexpr int kMantissaBits = 5;
  static constexpr std::size_t kPerDoubling = std::size_t{1} << kMantissaBits;
  static constexpr std::size_t kClasses = 51 * kPerDoubling;  ///< up to 2^64 bytes
  static constexpr std::size_t kWords = (kClasses + 63) / 64;

  [[nodiscard]] static std::size_t class_of(std::uint64_t size);
  [[nodiscard]] const FreeEntry* first_from(std::size_t class_index) const;

  std::array<detail::SizeClass, kClasses> classes_;
  std::array<std::uint64_t, kWords> occupied_{};  ///< bit c: class c is not empty
  std::uint64_t occupied_words_ = 0;              ///< bit w: occupied_[w] is not 0
};

}  // namespace highwater
