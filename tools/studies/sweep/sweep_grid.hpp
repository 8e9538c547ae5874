// The points of a sweep and how they are cut into pieces.
//
// A point is a number: the cross product of the axes, the last varying fastest. A piece is a
// stretch of points next to each other that share their plan, so that its requests are made once
// for all of them, and small enough that there are hundreds of pieces.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/studies/sweep/sweep_axes.hpp"

namespace highwater {

using SweepChoice = std::vector<std::pair<std::string, std::string>>;  ///< key and value

class SweepGrid {
 public:
  explicit SweepGrid(std::vector<SweepAxis> axes);

  [[nodiscard]] const std::vector<SweepAxis>& axes() const { return axes_; }

  [[nodiscard]] std::uint64_t points() const { return points_; }

  /// Index of the value of each axis at a point.
  [[nodiscard]] std::vector<std::size_t> digits(std::uint64_t point) const;

  /// Key and value of each axis.
  [[nodiscard]] SweepChoice choice(std::uint64_t point) const;

  /// Those that are options of the plan, or edits.
  [[nodiscard]] SweepChoice plan_choice(std::uint64_t point) const;

  [[nodiscard]] std::uint64_t pieces() const { return points_ / group_ * pieces_of_group_; }

  /// The points [first, second) of a piece.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> stretch(std::uint64_t piece) const;

 private:
  std::vector<SweepAxis> axes_;
  std::uint64_t points_ = 1;
  std::uint64_t group_ = 1;  ///< points next to each other with the same plan
  std::uint64_t size_ = 1;   ///< of a piece, the last of a group may have fewer
  std::uint64_t pieces_of_group_ = 1;
};

}  // namespace highwater
