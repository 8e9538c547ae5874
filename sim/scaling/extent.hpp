// Where values of the integers lie among the recordings that a program gives again.
//
// Nothing else is known to hold: beyond them PyTorch may choose other kernels and a script may take
// other paths, and between them the same is true of values that are multiples of less.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scaling/monomials.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

enum class ExtentKind : std::uint8_t {
  recorded,  ///< one of the recordings
  between,   ///< among them, and a multiple of what they are multiples of
  beyond,
};

/// "recorded", "between", "beyond".
std::string_view to_string(ExtentKind kind);

/// An integer whose value is not covered, and by what it is not.
struct UncoveredInteger {
  std::string name;
  std::uint64_t value = 0;
  std::uint64_t least = 0;     ///< in the recordings
  std::uint64_t most = 0;      ///< in the recordings
  std::uint64_t multiple = 1;  ///< the largest power of 2 that divides all recorded values

  [[nodiscard]] bool is_outside() const { return value < least || value > most; }

  [[nodiscard]] bool is_off_grid() const { return value % multiple != 0; }
};

struct Extent {
  ExtentKind kind = ExtentKind::recorded;
  std::vector<UncoveredInteger> uncovered;
};

/// @pre one value per integer
Extent extent_of(const ScalableProgram& program, const Values& values);

/// Of the recordings that the program gives again, and of all where it gives none.
std::vector<UncoveredInteger> covered_by(const ScalableProgram& program);

}  // namespace highwater
