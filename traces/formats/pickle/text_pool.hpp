// The distinct strings of a pickle, numbered from 0; the first numbers are the builder's words.
//
// The C++ side of PyTorch creates a new string object for each value, so "N/A" can occur once per
// record: interning by content keeps one of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/formats/pickle/pickle_value.hpp"

namespace highwater::detail {

class TextPool {
 public:
  /// `words` get the first numbers.
  explicit TextPool(std::span<const std::string_view> words);

  /// A value of kind text.
  PickleValue intern(std::string_view text);

  [[nodiscard]] std::string_view operator[](PickleValue text) const {
    return texts_[static_cast<std::size_t>(text.payload())];
  }

  /// Bytes of all that is kept.
  [[nodiscard]] std::uint64_t memory() const {
    return characters_ + texts_.size() * sizeof(std::string) + slots_.size() * sizeof(Slot);
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t text_plus_one = 0;
  };

  PickleValue add(std::string_view text);
  void grow();

  std::deque<std::string> texts_;
  std::vector<Slot> slots_;
  std::size_t used_slots_ = 0;
  std::uint64_t characters_ = 0;
};

}  // namespace highwater::detail
