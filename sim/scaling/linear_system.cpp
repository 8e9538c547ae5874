#include "sim/scaling/linear_system.hpp"

#include <algorithm>
#include <utility>

namespace highwater {
namespace {

/// Makes the unknown `column` disappear from all equations but `pivot`.
void eliminate(std::vector<Equation>& equations, std::size_t pivot, std::size_t column) {
  for (std::size_t row = 0; row < equations.size(); ++row) {
    if (row == pivot || equations[row][column].is_zero()) {
      continue;
    }
    const Fraction share = equations[row][column] / equations[pivot][column];
    for (std::size_t i = 0; i < equations[row].size(); ++i) {
      equations[row][i] = equations[row][i] - share * equations[pivot][i];
    }
  }
}

}  // namespace

std::optional<std::vector<Fraction>> solve_exactly(std::vector<Equation> equations) {
  const std::size_t unknowns = equations.front().size() - 1;
  for (std::size_t column = 0; column < unknowns; ++column) {
    std::size_t pivot = column;
    while (pivot < equations.size() && equations[pivot][column].is_zero()) {
      ++pivot;
    }
    if (pivot >= equations.size()) {
      return std::nullopt;
    }
    std::swap(equations[column], equations[pivot]);
    eliminate(equations, column, column);
  }
  std::vector<Fraction> solution;
  for (std::size_t i = 0; i < unknowns; ++i) {
    solution.push_back(equations[i][unknowns] / equations[i][i]);
  }
  const bool is_consistent =
      std::all_of(equations.begin() + static_cast<std::ptrdiff_t>(unknowns), equations.end(),
                  [&](const Equation& rest) { return rest[unknowns].is_zero(); });
  const bool is_exact = std::ranges::all_of(solution, &Fraction::is_valid);
  return is_consistent && is_exact ? std::optional(std::move(solution)) : std::nullopt;
}

}  // namespace highwater
