#include "tools/studies/validation/grid_summary.hpp"

#include <algorithm>
#include <cmath>

namespace highwater {
namespace {

constexpr std::size_t kBreaksShown = 3;

/// A form's estimate on the point where it was made.
struct Sample {
  const GridResult* result = nullptr;
  const GridEstimate* estimate = nullptr;
};

std::vector<Sample> samples_of(const Formula& formula, const std::vector<GridResult>& results) {
  std::vector<Sample> samples;
  for (const GridResult& result : results) {
    if (const GridEstimate* estimate = result.find(formula)) {
      samples.push_back({&result, estimate});
    }
  }
  return samples;
}

/// The samples that have one value on one axis.
struct Group {
  AxisValueError value;
  std::vector<const GridResult*> members;
  std::vector<double> errors;
};

Group& group_of(std::vector<Group>& groups, const std::string& axis, std::string_view value) {
  const auto found = std::ranges::find(
      groups, value, [](const Group& g) -> std::string_view { return g.value.value; });
  if (found != groups.end()) {
    return *found;
  }
  Group group;
  group.value = {.axis = axis, .value = std::string(value)};
  return groups.emplace_back(std::move(group));
}

std::vector<Group> groups_on(const std::string& axis, const std::vector<Sample>& samples) {
  std::vector<Group> groups;
  for (const Sample& sample : samples) {
    Group& group = group_of(groups, axis, axis_word(sample.result->point, axis));
    group.members.push_back(sample.result);
    group.errors.push_back(sample.estimate->error);
  }
  for (Group& group : groups) {
    group.value.points = group.errors.size();
    group.value.median = summarise_errors(std::move(group.errors)).median;
  }
  return groups;
}

/// Groups that tell something: more than one point and not all of them, none twice.
void add_telling(std::vector<Group> more, std::size_t all, std::vector<Group>& groups) {
  for (Group& group : more) {
    const bool is_known = std::ranges::find(groups, group.members, &Group::members) != groups.end();
    if (group.members.size() > 1 && group.members.size() < all && !is_known) {
      groups.push_back(std::move(group));
    }
  }
}

std::vector<AxisValueError> breaks_of(const std::vector<Sample>& samples,
                                      const std::vector<std::string>& axes) {
  std::vector<Group> groups;
  for (const std::string& axis : axes) {
    add_telling(groups_on(axis, samples), samples.size(), groups);
  }
  std::ranges::stable_sort(groups, std::ranges::greater{},
                           [](const Group& group) { return group.value.median; });
  groups.resize(std::min(groups.size(), kBreaksShown));
  std::vector<AxisValueError> breaks;
  for (Group& group : groups) {
    breaks.push_back(std::move(group.value));
  }
  return breaks;
}

void add_worst(const std::vector<Sample>& samples, FormSummary& summary) {
  const auto worst = std::ranges::max_element(
      samples, {}, [](const Sample& sample) { return std::abs(sample.estimate->error); });
  if (worst != samples.end()) {
    summary.worst = worst->result;
    summary.worst_error = worst->estimate->error;
  }
}

FormSummary summarise(const Formula& formula, const std::vector<GridResult>& results,
                      const std::vector<std::string>& axes) {
  const std::vector<Sample> samples = samples_of(formula, results);
  std::vector<double> errors;
  std::vector<double> covered;
  std::vector<double> measured;
  for (const auto& [result, estimate] : samples) {
    errors.push_back(estimate->error);
    if (estimate->error_of_covered) {
      covered.push_back(*estimate->error_of_covered);
    }
    if (const auto error = result->error_of(*estimate)) {
      measured.push_back(*error);
    }
  }
  FormSummary summary;
  summary.formula = &formula;
  summary.refused = results.size() - samples.size();
  summary.error = summarise_errors(std::move(errors));
  summary.covered = summarise_errors(std::move(covered));
  summary.measured = summarise_errors(std::move(measured));
  summary.breaks = breaks_of(samples, axes);
  add_worst(samples, summary);
  return summary;
}

}  // namespace

std::string_view axis_word(const GridPoint& point, std::string_view axis) {
  const auto found =
      std::ranges::find(point.words, axis, &std::pair<std::string, std::string>::first);
  return found == point.words.end() ? std::string_view() : found->second;
}

std::vector<std::string> varying_axes(const std::vector<GridResult>& results) {
  std::vector<std::string> axes;
  for (const GridResult& result : results) {
    for (const auto& [axis, word] : result.point.words) {
      if (std::ranges::find(axes, axis) == axes.end()) {
        axes.push_back(axis);
      }
    }
  }
  std::erase_if(axes, [&](const std::string& axis) {
    return std::ranges::all_of(results, [&](const GridResult& result) {
      return axis_word(result.point, axis) == axis_word(results.front().point, axis);
    });
  });
  return axes;
}

std::vector<FormSummary> summarise_forms(const std::vector<GridResult>& results) {
  const std::vector<std::string> axes = varying_axes(results);
  std::vector<FormSummary> summaries;
  for (const Formula* formula : formulas()) {
    summaries.push_back(summarise(*formula, results, axes));
  }
  return summaries;
}

ErrorSummary summarise_simulation(const std::vector<GridResult>& results) {
  std::vector<double> errors;
  for (const GridResult& result : results) {
    if (const auto error = result.error_of_simulation()) {
      errors.push_back(*error);
    }
  }
  return summarise_errors(std::move(errors));
}

}  // namespace highwater
