// A grid file: training plans in the words of the command line, crossed or listed one by one.
//
//   {"grid": {"model": ["gpt2", "opt-125m"], "batch": [1, 4], "checkpoint": ["none", "full"]},
//    "cases": [{"model": "gpt2", "batch": 4,
//               "measured": {"reserved_bytes": 5368709120, "source": "https://..."}}]}
//
// "grid" is a cross product, or a list of them; every field is a plan option without its dashes in
// front. A value is a text, a number, true or false, null for "none", or a list of lengths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/units.hpp"

namespace highwater {

/// One value of one option, and the field that says so.
struct GridOption {
  std::string name;   ///< "checkpoint"
  std::string value;  ///< "full"
  std::string path;   ///< "grid.checkpoint[1]"
};

/// A measurement on a GPU: a peak of the allocator, or what nvidia-smi showed.
enum class MeasuredFigure : std::uint8_t { allocated, reserved, process };

/// "allocated", ...
std::string_view to_string(MeasuredFigure figure);

struct Measurement {
  MeasuredFigure figure = MeasuredFigure::allocated;
  Bytes bytes;
  std::string source;  ///< where it was published; may be empty
};

/// One plan as written in the file; the words are not yet checked.
struct GridEntry {
  std::string path;                 ///< "grid", "grid[1]", "cases[3]"
  std::vector<GridOption> options;  ///< in the file's order
  std::optional<Measurement> measured;
};

inline constexpr std::size_t kMostGridPoints = 10'000;

/// The plans in the file's order, those of a cross product with the last field changing fastest.
/// @throws InputError naming the field; more than kMostGridPoints plans are an error as well
std::vector<GridEntry> read_grid(std::string_view text, const std::string& source);

}  // namespace highwater
