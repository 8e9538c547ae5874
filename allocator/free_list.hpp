// The free blocks of one pool on one stream, ordered by (size, rank): the rank is the address, or
// whatever else the release orders blocks of one size by.
//
// PyTorch keeps them in a std::set; the order is the same here, the structure is not. Sizes fall
// into classes (exact below 16 KiB, then 32 per power of two), a bitmap finds the next class that
// is not empty, and a class holds its smallest block, which most often is its only one, and the
// others in a sorted array. So the usual search, insertion and removal touch a few cache lines and
// allocate nothing. The classes of one power of two are made when the first block of such a size
// comes: most streams see a few sizes only, and a trace may have 65,535 streams.
//
//   class     512  1024 ...  16 KiB  16.5 KiB ...          each class, largest block first:
//   bitmap      1     0        1        0                  [1 MiB @a] [1008 KiB @c] [1008 KiB @b]
//                                                                           smallest, lowest last ^
//
// Invariant: beyond kMaxSorted, the others are a balanced tree instead, so that no operation is
// worse than logarithmic in the number of blocks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "allocator/settings/constants.hpp"
#include "traces/ids.hpp"
#include "traces/units.hpp"

namespace highwater {

using BlockId = Id<struct BlockTag>;  ///< a block in the BlockStore

/// A free block as the list orders it.
struct FreeEntry {
  std::uint64_t size = 0;
  std::uint64_t rank = 0;
  BlockId block;

  bool operator==(const FreeEntry& other) const { return size == other.size && rank == other.rank; }

  /// The order as one comparison without a branch.
  [[nodiscard]] bool before(const FreeEntry& other) const {
    __extension__ using Wide = unsigned __int128;
    return ((Wide{size} << 64) | rank) < ((Wide{other.size} << 64) | other.rank);
  }

  bool operator<(const FreeEntry& other) const { return before(other); }
};

namespace detail {

/// The blocks of one size class: the smallest, and those behind it. Most classes hold none or one,
/// so the smallest stands in the class itself.
class alignas(64) SizeClass {
 public:
  [[nodiscard]] bool empty() const { return smallest_.size == 0; }

  void insert(const FreeEntry& entry) {
    if (empty()) {
      smallest_ = entry;
    } else if (entry.before(smallest_)) {
      insert_behind(smallest_);
      smallest_ = entry;
    } else {
      insert_behind(entry);
    }
  }

  void erase(const FreeEntry& entry) {
    if (smallest_.rank != entry.rank || smallest_.size != entry.size) {
      erase_behind(entry);
    } else if (!sorted_.empty()) {
      smallest_ = sorted_.back();
      sorted_.pop_back();
    } else if (tree_) [[unlikely]] {
      take_smallest_from_tree();
    } else {
      smallest_.size = 0;
    }
  }

  /// The first entry not before `key`; nothing when all are before it.
  [[nodiscard]] const FreeEntry* lower_bound(const FreeEntry& key) const {
    if (empty()) {
      return nullptr;
    }
    return smallest_.before(key) ? lower_bound_behind(key) : &smallest_;
  }

  /// The last entry before `key`.
  [[nodiscard]] const FreeEntry* last_before(const FreeEntry& key) const;

  [[nodiscard]] const FreeEntry* first() const { return empty() ? nullptr : &smallest_; }

  [[nodiscard]] const FreeEntry* last() const;

 private:
  static constexpr std::size_t kMaxSorted = 128;

  void insert_behind(const FreeEntry& entry) {
    if (tree_ || sorted_.size() == kMaxSorted) [[unlikely]] {
      insert_into_tree(entry);
      return;
    }
    // Starts from the smallest: a block that comes back soon was usually taken from there.
    std::size_t i = sorted_.size();
    sorted_.emplace_back();
    for (; i > 0 && sorted_[i - 1].before(entry); --i) {
      sorted_[i] = sorted_[i - 1];
    }
    // Member by member: copying the whole would read back more bytes at once than were just
    // written.
    sorted_[i].size = entry.size;
    sorted_[i].rank = entry.rank;
    sorted_[i].block = entry.block;
  }

  void insert_into_tree(const FreeEntry& entry);
  void erase_behind(const FreeEntry& entry);
  void take_smallest_from_tree();
  void shrink_tree();
  [[nodiscard]] const FreeEntry* lower_bound_behind(const FreeEntry& key) const;

  FreeEntry smallest_;                         ///< of size 0: there is none
  std::vector<FreeEntry> sorted_;              ///< the others, descending
  std::unique_ptr<std::set<FreeEntry>> tree_;  ///< instead of `sorted_`
};

}  // namespace detail

class FreeList {
 public:
  void insert(const FreeEntry& entry) {
    const std::size_t c = class_of(entry.size);
    std::unique_ptr<Classes>& doubling = doublings_[c / kPerDoubling];
    if (!doubling) [[unlikely]] {
      doubling = std::make_unique<Classes>();
    }
    (*doubling)[c % kPerDoubling].insert(entry);
    occupied_[c / 64] |= std::uint64_t{1} << (c % 64);
    occupied_words_ |= std::uint64_t{1} << (c / 64);
  }

  void erase(const FreeEntry& entry) {
    const std::size_t c = class_of(entry.size);
    detail::SizeClass& blocks = (*doublings_[c / kPerDoubling])[c % kPerDoubling];
    blocks.erase(entry);
    mark(c, blocks.empty());
  }

  /// Best fit: the smallest block of `size` or more, the lowest rank among equals.
  [[nodiscard]] const FreeEntry* lower_bound(Bytes size) const {
    return lower_bound({size.count(), 0, BlockId::none()});
  }

  /// The entry that follows or precedes `entry` (which need not be in the list).
  [[nodiscard]] const FreeEntry* next(const FreeEntry& entry) const {
    return lower_bound({entry.size, entry.rank + 1, BlockId::none()});
  }

  [[nodiscard]] const FreeEntry* previous(const FreeEntry& entry) const;

  [[nodiscard]] const FreeEntry* first() const { return first_from(0); }

  [[nodiscard]] const FreeEntry* last() const;

  /// All entries in order, as a copy: for callers that change the list while they visit it.
  [[nodiscard]] std::vector<FreeEntry> snapshot() const;

 private:
  static constexpr int kMantissaBits = 5;
  static constexpr std::size_t kPerDoubling = std::size_t{1} << kMantissaBits;
  static constexpr std::size_t kDoublings = 51;  ///< up to 2^64 bytes
  static constexpr std::size_t kClasses = kDoublings * kPerDoubling;
  static constexpr std::size_t kWords = kClasses / 64 + 1;  ///< one more class than there is

  [[nodiscard]] static std::size_t class_of(std::uint64_t size) {
    const std::uint64_t units = size / kMinBlockSize.count();
    const int shift = std::max(static_cast<int>(std::bit_width(units)) - 1 - kMantissaBits, 0);
    return (static_cast<std::size_t>(shift) << kMantissaBits) + (units >> shift);
  }

  using Classes = std::array<detail::SizeClass, kPerDoubling>;

  /// The class, or nothing where no class of its power of two was ever used.
  [[nodiscard]] const detail::SizeClass* find(std::size_t class_index) const {
    const Classes* const doubling = doublings_[class_index / kPerDoubling].get();
    return doubling == nullptr ? nullptr : &(*doubling)[class_index % kPerDoubling];
  }

  /// The first entry not before `key`.
  [[nodiscard]] const FreeEntry* lower_bound(const FreeEntry& key) const {
    const std::size_t c = class_of(key.size);
    const detail::SizeClass* const blocks = find(c);
    const FreeEntry* const here = blocks == nullptr ? nullptr : blocks->lower_bound(key);
    return here != nullptr ? here : first_from(c + 1);
  }

  /// The first entry of the class `class_index` or a later one.
  [[nodiscard]] const FreeEntry* first_from(std::size_t class_index) const;

  /// Notes whether class `c` is empty; without a branch, because it is unpredictable.
  void mark(std::size_t c, bool is_empty) {
    std::uint64_t& word = occupied_[c / 64];
    word &= ~(static_cast<std::uint64_t>(is_empty) << (c % 64));
    occupied_words_ &= ~(static_cast<std::uint64_t>(word == 0) << (c / 64));
  }

  std::array<std::unique_ptr<Classes>, kDoublings> doublings_;
  std::array<std::uint64_t, kWords> occupied_{};  ///< bit c: class c is not empty
  std::uint64_t occupied_words_ = 0;              ///< bit w: occupied_[w] is not 0
};

}  // namespace highwater
