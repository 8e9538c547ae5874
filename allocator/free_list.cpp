#include "allocator/free_list.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace highwater {

void detail::SizeClass::insert(const FreeEntry& entry) {
  if (tree_) {
    tree_->insert(entry);
    return;
  }
  sorted_.insert(std::ranges::lower_bound(sorted_, entry, std::greater<>{}), entry);
  if (sorted_.size() > kMaxSorted) {
    tree_ = std::make_unique<std::set<FreeEntry>>(sorted_.begin(), sorted_.end());
    sorted_.clear();
  }
}

void detail::SizeClass::erase(const FreeEntry& entry) {
  if (!tree_) {
    sorted_.erase(std::ranges::lower_bound(sorted_, entry, std::greater<>{}));
    return;
  }
  tree_->erase(entry);
  if (tree_->size() < kMaxSorted / 4) {
    sorted_.assign(tree_->rbegin(), tree_->rend());
    tree_.reset();
  }
}

const FreeEntry* detail::SizeClass::lower_bound(const FreeEntry& key) const {
  if (tree_) {
    const auto it = tree_->lower_bound(key);
    return it == tree_->end() ? nullptr : &*it;
  }
  // Descending: the first entry not before the key is the last one that is >= it.
  const auto it = std::ranges::upper_bound(sorted_, key, std::greater<>{});
  return it == sorted_.begin() ? nullptr : &*(it - 1);
}

const FreeEntry* detail::SizeClass::before(const FreeEntry& key) const {
  if (tree_) {
    const auto it = tree_->lower_bound(key);
    return it == tree_->begin() ? nullptr : &*std::prev(it);
  }
  const auto it = std::ranges::upper_bound(sorted_, key, std::greater<>{});
  return it == sorted_.end() ? nullptr : &*it;
}

const FreeEntry* detail::SizeClass::first() const {
  if (tree_) {
    return &*tree_->begin();
  }
  return sorted_.empty() ? nullptr : &sorted_.back();
}

const FreeEntry* detail::SizeClass::last() const {
  if (tree_) {
    return &*tree_->rbegin();
  }
  return sorted_.empty() ? nullptr : &sorted_.front();
}

std::size_t FreeList::class_of(std::uint64_t size) {
  const std::uint64_t units = size / kMinBlockSize.count();
  if (units < kPerDoubling) {
    return units;
  }
  const int shift = static_cast<int>(std::bit_width(units)) - 1 - kMantissaBits;
  return (static_cast<std::size_t>(shift) << kMantissaBits) + (units >> shift);
}

void FreeList::insert(const FreeEntry& entry) {
  const std::size_t c = class_of(entry.size);
  classes_[c].insert(entry);
  occupied_[c / 64] |= std::uint64_t{1} << (c % 64);
  occupied_words_ |= std::uint64_t{1} << (c / 64);
}

void FreeList::erase(const FreeEntry& entry) {
  const std::size_t c = class_of(entry.size);
  classes_[c].erase(entry);
  if (classes_[c].empty()) {
    occupied_[c / 64] &= ~(std::uint64_t{1} << (c % 64));
    if (occupied_[c / 64] == 0) {
      occupied_words_ &= ~(std::uint64_t{1} << (c / 64));
    }
  }
}

const FreeEntry* FreeList::first_from(std::size_t class_index) const {
  if (class_index >= kClasses) {
    return nullptr;
  }
  const std::size_t word = class_index / 64;
  const std::uint64_t here = occupied_[word] >> (class_index % 64);
  if (here != 0) {
    return classes_[class_index + static_cast<std::size_t>(std::countr_zero(here))].first();
  }
  const std::uint64_t later = word + 1 < 64 ? occupied_words_ >> (word + 1) : 0;
  if (later == 0) {
    return nullptr;
  }
  const std::size_t w = word + 1 + static_cast<std::size_t>(std::countr_zero(later));
  return classes_[w * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[w]))].first();
}

const FreeEntry* FreeList::lower_bound(Bytes size) const {
  const std::size_t c = class_of(size.count());
  const FreeEntry* const here = classes_[c].lower_bound({size.count(), 0, BlockId::none()});
  return here != nullptr ? here : first_from(c + 1);
}

const FreeEntry* FreeList::next(const FreeEntry& entry) const {
  const std::size_t c = class_of(entry.size);
  const FreeEntry after{entry.size, entry.address + 1, BlockId::none()};
  const FreeEntry* const here = classes_[c].lower_bound(after);
  return here != nullptr ? here : first_from(c + 1);
}

const FreeEntry* FreeList::previous(const FreeEntry& entry) const {
  std::size_t c = class_of(entry.size);
  const FreeEntry* found = classes_[c].before(entry);
  while (found == nullptr && c > 0) {
    found = classes_[--c].last();
  }
  return found;
}

const FreeEntry* FreeList::last() const {
  if (occupied_words_ == 0) {
    return nullptr;
  }
  const auto w = static_cast<std::size_t>(63 - std::countl_zero(occupied_words_));
  const auto bit = static_cast<std::size_t>(63 - std::countl_zero(occupied_[w]));
  return classes_[w * 64 + bit].last();
}

std::vector<FreeEntry> FreeList::snapshot() const {
  std::vector<FreeEntry> entries;
  for (const FreeEntry* entry = first(); entry != nullptr; entry = next(*entry)) {
    entries.push_back(*entry);
  }
  return entries;
}

}  // namespace highwater
