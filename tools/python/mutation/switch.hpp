// The switch that mutated sources are built with: every mutant is in the program, the environment
// variable HIGHWATER_MUTANT says which one acts (none without it). mutants.py writes the calls.
//
// HIGHWATER_REACHED names a file that gets the numbers of all mutants that were passed by.
#pragma once

#include <bitset>
#include <cstdlib>
#include <fstream>
#include <type_traits>

namespace mutation {

class Switch {
 public:
  Switch() {
    if (const char* const number = std::getenv("HIGHWATER_MUTANT")) {
      active_ = std::atoi(number);
    }
  }

  ~Switch() {
    if (const char* const path = std::getenv("HIGHWATER_REACHED")) {
      std::ofstream file(path);
      for (std::size_t i = 0; i < reached_.size(); ++i) {
        file << (reached_[i] ? std::to_string(i) + "\n" : "");
      }
    }
  }

  bool acts(int mutant) {
    reached_[static_cast<std::size_t>(mutant)] = true;
    return mutant == active_;
  }

 private:
  int active_ = -1;
  std::bitset<16384> reached_;
};

inline Switch the_switch;

/// What the compiler evaluates is never mutated (and never reached).
constexpr bool acts(int mutant) {
  return std::is_constant_evaluated() ? false : the_switch.acts(mutant);
}

/// `value`, or always true or always false.
constexpr bool condition(bool value, int as_true, int as_false) {
  return acts(as_true) || (value && !acts(as_false));
}

constexpr bool forced_true(bool value, int mutant) {
  return acts(mutant) || value;
}

constexpr bool forced_false(bool value, int mutant) {
  return !acts(mutant) && value;
}

constexpr bool flipped(bool value, int mutant) {
  return acts(mutant) != value;
}

/// What is added to a number.
constexpr int shift(int one_more, int one_less) {
  return acts(one_more) ? 1 : acts(one_less) ? -1 : 0;
}

/// The same in a constant, which the compiler would work out by itself.
inline int constant_shift(int one_more, int one_less) {
  return shift(one_more, one_less);
}

constexpr bool kept(int mutant) {
  return !acts(mutant);
}

enum class Operator { less, less_equal, greater, greater_equal, equal, not_equal };

/// `left < right` is written `left > Comparison{...} > right`, and `left == right` as `left ==
/// Comparison{...} == right`: the same precedence, so the operands stay what they were.
struct Comparison {
  Operator op;
  Operator first;
  Operator second;
  int mutant;  ///< of `first`; the next one is that of `second`, if it is another
};

template <class Left>
struct Pending {
  const Left& left;
  Operator op;
};

template <class Left>
constexpr Pending<Left> pending(const Left& left, const Comparison& comparison) {
  if (acts(comparison.mutant)) {
    return {left, comparison.first};
  }
  if (comparison.second != comparison.first && acts(comparison.mutant + 1)) {
    return {left, comparison.second};
  }
  return {left, comparison.op};
}

template <class Left>
constexpr Pending<Left> operator>(const Left& left, Comparison comparison) {
  return pending(left, comparison);
}

template <class Left>
constexpr Pending<Left> operator==(const Left& left, Comparison comparison) {
  return pending(left, comparison);
}

template <class Left, class Right>
constexpr bool operator>(Pending<Left> pending, const Right& right) {
  switch (pending.op) {
    case Operator::less:
      return pending.left < right;
    case Operator::less_equal:
      return pending.left <= right;
    case Operator::greater:
      return pending.left > right;
    default:
      return pending.left >= right;
  }
}

template <class Left, class Right>
constexpr bool operator==(Pending<Left> pending, const Right& right) {
  return (pending.left == right) == (pending.op == Operator::equal);
}

}  // namespace mutation
