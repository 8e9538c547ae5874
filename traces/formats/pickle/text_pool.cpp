#include "traces/formats/pickle/text_pool.hpp"

#include <functional>
#include <utility>

namespace highwater::detail {
namespace {

constexpr std::size_t kFirstSlots = 1024;

// Interning only saves memory, so a search may give up: a file made to collide costs no more than
// this many steps per string.
constexpr std::size_t kMaxProbes = 32;

std::uint32_t hash_of(std::string_view text) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(text));
}

}  // namespace

TextPool::TextPool(std::span<const std::string_view> words) : slots_(kFirstSlots) {
  for (const std::string_view word : words) {
    intern(word);
  }
}

PickleValue TextPool::intern(std::string_view text) {
  const std::uint32_t hash = hash_of(text);
  for (std::size_t probe = 0; probe < kMaxProbes; ++probe) {
    Slot& slot = slots_[(hash + probe) & (slots_.size() - 1)];
    if (slot.text_plus_one == 0) {
      const PickleValue added = add(text);
      slot = {hash, static_cast<std::uint32_t>(added.payload() + 1)};
      if (++used_slots_ * 2 > slots_.size()) {
        grow();
      }
      return added;
    }
    if (slot.hash == hash && texts_[slot.text_plus_one - 1] == text) {
      return PickleValue{PickleKind::text, slot.text_plus_one - 1};
    }
  }
  return add(text);
}

PickleValue TextPool::add(std::string_view text) {
  texts_.emplace_back(text);
  characters_ += text.size();
  return PickleValue{PickleKind::text, texts_.size() - 1};
}

void TextPool::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  used_slots_ = 0;
  for (const Slot& moved : old) {
    for (std::size_t probe = 0; moved.text_plus_one != 0 && probe < kMaxProbes; ++probe) {
      Slot& slot = slots_[(moved.hash + probe) & (slots_.size() - 1)];
      if (slot.text_plus_one == 0) {
        slot = moved;
        ++used_slots_;
        break;
      }
    }
  }
}

}  // namespace highwater::detail
