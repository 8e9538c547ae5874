#include "allocator/free_list.hpp"

#include <algorithm>

namespace highwater {
namespace {

bool descending(const FreeEntry& a, const FreeEntry& b) {
  return b.before(a);
}

}  // namespace

void detail::SizeClass::insert_into_tree(const FreeEntry& entry) {
  if (!tree_) {
    tree_ = std::make_unique<std::set<FreeEntry>>(sorted_.begin(), sorted_.end());
    sorted_.clear();
  }
  tree_->insert(entry);
}

void detail::SizeClass::erase_behind(const FreeEntry& entry) {
  if (tree_) {
    tree_->erase(entry);
    shrink_tree();
    return;
  }
  std::size_t i = sorted_.size() - 1;
  while (sorted_[i].before(entry)) {
    --i;
  }
  sorted_.erase(sorted_.begin() + static_cast<std::ptrdiff_t>(i));
}

void detail::SizeClass::take_smallest_from_tree() {
  smallest_ = *tree_->begin();
  tree_->erase(tree_->begin());
  shrink_tree();
}

void detail::SizeClass::shrink_tree() {
  if (tree_->size() <= kMaxSorted / 4) {
    sorted_.assign(tree_->rbegin(), tree_->rend());
    tree_.reset();
  }
}

const FreeEntry* detail::SizeClass::lower_bound_behind(const FreeEntry& key) const {
  if (tree_) {
    const auto it = tree_->lower_bound(key);
    return it == tree_->end() ? nullptr : &*it;
  }
  // Descending: the first entry not before the key is the last one that is >= it.
  const auto it = std::ranges::upper_bound(sorted_, key, descending);
  return it == sorted_.begin() ? nullptr : &*(it - 1);
}

const FreeEntry* detail::SizeClass::last_before(const FreeEntry& key) const {
  if (tree_) {
    const auto it = tree_->lower_bound(key);
    if (it != tree_->begin()) {
      return &*std::prev(it);
    }
  }
  const auto it = std::ranges::upper_bound(sorted_, key, descending);
  if (it != sorted_.end()) {
    return &*it;
  }
  return !empty() && smallest_.before(key) ? &smallest_ : nullptr;
}

const FreeEntry* detail::SizeClass::last() const {
  if (tree_) {
    return &*tree_->rbegin();
  }
  return sorted_.empty() ? first() : &sorted_.front();
}

const FreeEntry* FreeList::first_from(std::size_t class_index) const {
  const std::size_t word = class_index / 64;
  const std::uint64_t here = occupied_[word] >> (class_index % 64);
  if (here != 0) {
    return find(class_index + static_cast<std::size_t>(std::countr_zero(here)))->first();
  }
  const std::uint64_t later = occupied_words_ >> word >> 1;
  if (later == 0) {
    return nullptr;
  }
  const std::size_t w = word + 1 + static_cast<std::size_t>(std::countr_zero(later));
  return find(w * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[w])))->first();
}

const FreeEntry* FreeList::previous(const FreeEntry& entry) const {
  std::size_t c = class_of(entry.size);
  const detail::SizeClass* blocks = find(c);
  const FreeEntry* found = blocks == nullptr ? nullptr : blocks->last_before(entry);
  while (found == nullptr && c > 0) {
    blocks = find(--c);
    found = blocks == nullptr ? nullptr : blocks->last();
  }
  return found;
}

const FreeEntry* FreeList::last() const {
  if (occupied_words_ == 0) {
    return nullptr;
  }
  const auto w = static_cast<std::size_t>(63 - std::countl_zero(occupied_words_));
  const auto bit = static_cast<std::size_t>(63 - std::countl_zero(occupied_[w]));
  return find(w * 64 + bit)->last();
}

std::vector<FreeEntry> FreeList::snapshot() const {
  std::vector<FreeEntry> entries;
  for (const FreeEntry* entry = first(); entry != nullptr; entry = next(*entry)) {
    entries.push_back(*entry);
  }
  return entries;
}

}  // namespace highwater
