#include "tools/studies/sweep/sweep_grid.hpp"

#include <algorithm>

#include "traces/error.hpp"

namespace highwater {
namespace {

/// Numbers of points and pieces stay far from the limits of their types.
constexpr std::uint64_t kMostPoints = 1'000'000'000'000;
/// As few pieces as keep many processes busy until the end.
constexpr std::uint64_t kFewestPieces = 512;
constexpr std::uint64_t kLargestPiece = 64;

/// Options of the plan and edits decide what is replayed, the others how.
bool is_of_plan(const SweepAxis& axis) {
  return axis.kind == AxisKind::plan || axis.kind == AxisKind::edit;
}

}  // namespace

SweepGrid::SweepGrid(std::vector<SweepAxis> axes) : axes_(std::move(axes)) {
  for (std::size_t a = axes_.size(); a-- > 0;) {
    points_ *= axes_[a].values.size();
    if (points_ > kMostPoints) {
      throw UsageError("--set: more than 10^12 combinations; omit some values");
    }
    const bool is_plan_above = std::ranges::any_of(axes_.begin() + static_cast<std::ptrdiff_t>(a),
                                                   axes_.end(), is_of_plan);
    group_ = is_plan_above ? group_ : points_;
  }
  size_ = std::clamp(points_ / kFewestPieces, std::uint64_t{1}, std::min(group_, kLargestPiece));
  pieces_of_group_ = (group_ + size_ - 1) / size_;
}

std::vector<std::size_t> SweepGrid::digits(std::uint64_t point) const {
  std::vector<std::size_t> chosen(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0;) {
    chosen[a] = point % axes_[a].values.size();
    point /= axes_[a].values.size();
  }
  return chosen;
}

SweepChoice SweepGrid::choice(std::uint64_t point) const {
  const std::vector<std::size_t> chosen = digits(point);
  SweepChoice set;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    set.emplace_back(axes_[a].key, axes_[a].values[chosen[a]]);
  }
  return set;
}

SweepChoice SweepGrid::plan_choice(std::uint64_t point) const {
  const std::vector<std::size_t> chosen = digits(point);
  SweepChoice set;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (is_of_plan(axes_[a])) {
      set.emplace_back(axes_[a].key, axes_[a].values[chosen[a]]);
    }
  }
  return set;
}

std::pair<std::uint64_t, std::uint64_t> SweepGrid::stretch(std::uint64_t piece) const {
  const std::uint64_t group = piece / pieces_of_group_;
  const std::uint64_t begin = group * group_ + piece % pieces_of_group_ * size_;
  return {begin, std::min(begin + size_, (group + 1) * group_)};
}

}  // namespace highwater
