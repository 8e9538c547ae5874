#include "sim/scaling/extent.hpp"

#include <algorithm>

namespace highwater {
namespace {

std::uint64_t power_of_two_in(std::uint64_t value) {
  return value & (~value + 1);
}

/// The range and the grid of an integer over the points that count.
UncoveredInteger range_of(const ScalableProgram& program, std::size_t integer,
                          bool reproduced_only) {
  UncoveredInteger range{program.integers[integer], 0, ~std::uint64_t{0}, 0, ~std::uint64_t{0}};
  for (const FittedPoint& point : program.points) {
    if (point.is_reproduced() || !reproduced_only) {
      const std::uint64_t value = point.values[integer];
      range.least = std::min(range.least, value);
      range.most = std::max(range.most, value);
      range.multiple = std::min(range.multiple, std::max<std::uint64_t>(power_of_two_in(value), 1));
    }
  }
  return range;
}

bool is_reproduced_at(const ScalableProgram& program, const Values& values) {
  return std::ranges::any_of(program.points, [&](const FittedPoint& point) {
    return point.is_reproduced() && point.values == values;
  });
}

}  // namespace

std::string_view to_string(ExtentKind kind) {
  switch (kind) {
    case ExtentKind::recorded:
      return "recorded";
    case ExtentKind::between:
      return "between";
    case ExtentKind::beyond:
      break;
  }
  return "beyond";
}

std::vector<UncoveredInteger> covered_by(const ScalableProgram& program) {
  const bool any = std::ranges::any_of(program.points, &FittedPoint::is_reproduced);
  std::vector<UncoveredInteger> ranges;
  for (std::size_t i = 0; i < program.integers.size(); ++i) {
    ranges.push_back(range_of(program, i, any));
  }
  return ranges;
}

Extent extent_of(const ScalableProgram& program, const Values& values) {
  if (is_reproduced_at(program, values)) {
    return {};
  }
  Extent extent{ExtentKind::between, covered_by(program)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    extent.uncovered[i].value = values[i];
  }
  std::erase_if(extent.uncovered, [](const UncoveredInteger& each) {
    return !each.is_outside() && !each.is_off_grid();
  });
  const auto reproduced = std::ranges::count_if(program.points, &FittedPoint::is_reproduced);
  if (!extent.uncovered.empty() || reproduced < 2) {
    extent.kind = ExtentKind::beyond;
  }
  return extent;
}

}  // namespace highwater
