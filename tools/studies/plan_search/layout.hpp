// How a job's GPUs are divided over the axes of parallelism.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/studies/plan_search/fixed_options.hpp"

namespace highwater {

struct TrainingPlan;

/// Sizes of the axes. Their product is the number of GPUs, but for the last two: ep is a part of
/// tp * dp * cp, replicas one of dp * cp.
struct Layout {
  int dp = 1;
  int tp = 1;
  int pp = 1;
  int cp = 1;
  int ep = 1;
  int replicas = 1;  ///< HSDP: copies of the model, each sharded

  bool operator==(const Layout&) const = default;
};

/// GPUs of one machine: tensor parallelism stays within it, HSDP copies the model for each.
inline constexpr int kRanksOfMachine = 8;

/// An axis that a strategy can use.
enum class Axis : unsigned { dp = 1, tp = 2, pp = 4, cp = 8, ep = 16, replicas = 32 };

/// A set of axes.
struct Axes {
  unsigned bits = 0;

  [[nodiscard]] constexpr bool has(Axis axis) const {
    return (bits & static_cast<unsigned>(axis)) != 0;
  }

  [[nodiscard]] constexpr bool within(Axes other) const { return (bits & ~other.bits) == 0; }

  bool operator==(const Axes&) const = default;
};

constexpr Axes operator|(Axes axes, Axis axis) {
  return {axes.bits | static_cast<unsigned>(axis)};
}

constexpr Axes operator|(Axis a, Axis b) {
  return Axes{} | a | b;
}

/// The axes with more than one rank.
Axes used_axes(const Layout& layout);

/// Which pipelines are tried.
enum class PipelineRule : std::uint8_t {
  any,
  beside_full_machines  ///< only where tensor parallelism fills a machine (arXiv 2104.04473,
                        ///< section 3.2, takeaway 1)
};

/// Every division of `gpus` GPUs over axes that the model has: context parallelism in powers of two
/// as far as the sequences can be cut, expert parallelism in divisors of the experts over the ranks
/// of tp as well (unless the plan has --etp above 1). Sizes that are fixed are the only ones of
/// their axes.
std::vector<Layout> layouts(const TrainingPlan& base, int gpus, const FixedOptions& fixed = {},
                            PipelineRule rule = PipelineRule::any);

/// Sets the sizes in `plan`.
void apply_layout(const Layout& layout, TrainingPlan& plan);

}  // namespace highwater
