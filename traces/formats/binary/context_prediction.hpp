// Predicts what comes next in a repetitive trace, in the same way when writing and reading.
//
// Training runs the same layers step after step: the last few operations predict the next
// allocation well. All fields of an operation except its address and time form its shape; distinct
// shapes are numbered, and the writer stores only "as guessed" if the guess is right. A wrong guess
// never makes a trace unreadable; it only costs a few bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace highwater {

/// A table from the last few operations to what followed them. A collision only spoils a guess. It
/// starts small and grows with what it has learned, since many traces are short.
class ContextTable {
 public:
  static constexpr std::uint64_t kNoGuess = ~std::uint64_t{0};

  /// After the last operation, and after the last three.
  enum Order : std::uint8_t { one, three };

  [[nodiscard]] std::uint64_t guess(Order order) const { return guesses_[order][slot(order)]; }

  /// `value` is what actually followed.
  void learn(std::uint64_t value) {
    if (++learned_ > guesses_[one].size() && guesses_[one].size() < kMostSlots) {
      grow(guesses_[one]);
      grow(guesses_[three]);
    }
    guesses_[one][slot(one)] = value;
    guesses_[three][slot(three)] = value;
  }

  /// The operation `code` has happened.
  void advance(std::uint64_t code) { last_ = {code, last_[0], last_[1]}; }

 private:
  using Guesses = std::vector<std::uint64_t>;

  static constexpr std::size_t kFirstSlots = 256;
  static constexpr std::size_t kMostSlots = std::size_t{1} << 17U;

  static std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    return (hash ^ value) * 0x9e3779b97f4a7c15U + (hash >> 31U);
  }

  /// A slot is named by the low bits of a hash: both slots with the old bits get the old guess.
  static void grow(Guesses& guesses) {
    const std::size_t size = guesses.size();
    guesses.resize(2 * size);
    std::copy_n(guesses.begin(), size, guesses.begin() + static_cast<std::ptrdiff_t>(size));
  }

  [[nodiscard]] std::size_t slot(Order order) const {
    std::uint64_t hash = mix(0, last_[0]);
    if (order == three) {
      hash = mix(mix(hash, last_[1]), last_[2]);
    }
    return (hash >> 40U) % guesses_[order].size();
  }

  std::array<Guesses, 2> guesses_{Guesses(kFirstSlots, kNoGuess), Guesses(kFirstSlots, kNoGuess)};
  std::array<std::uint64_t, 3> last_{};
  std::size_t learned_ = 0;
};

/// How a shape is given in a record; two bits of its tag.
enum class ShapeGuess : std::uint8_t { after_three, after_one, by_number, is_new };

/// Distinct shapes, numbered from 0. The writer looks numbers up by shape, the reader the reverse.
template <class Shape, class Hash>
class ShapeDictionary {
 public:
  [[nodiscard]] std::size_t size() const { return shapes_.size(); }

  [[nodiscard]] const Shape& operator[](std::size_t i) const { return shapes_[i]; }

  std::uint32_t add(const Shape& shape) {
    shapes_.push_back(shape);
    return static_cast<std::uint32_t>(shapes_.size() - 1);
  }

  /// For the writer: the number, or size() for one that must be added with add_searchable().
  [[nodiscard]] std::size_t find(const Shape& shape) const {
    const auto found = numbers_.find(shape);
    return found == numbers_.end() ? size() : found->second;
  }

  std::uint32_t add_searchable(const Shape& shape) {
    const std::uint32_t number = add(shape);
    numbers_.emplace(shape, number);
    return number;
  }

 private:
  std::vector<Shape> shapes_;
  std::unordered_map<Shape, std::uint32_t, Hash> numbers_;
};

}  // namespace highwater
