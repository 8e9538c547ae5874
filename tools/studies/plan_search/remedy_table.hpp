// The changes of a plan that can lower its memory, as data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "workloads/plan/options/option_table.hpp"

namespace highwater {

struct TrainingPlan;

/// What a remedy asks of the run, from nothing to a different result.
enum class RemedyPrice : std::uint8_t { nothing, time, rounding, training };

struct RemedyRow {
  RemedyPrice price;
  std::string_view costs;  ///< for people; empty: nothing
  /// The options to change; none where it cannot lower the memory of such a plan.
  OptionWords (*options)(const TrainingPlan& plan);
};

/// The cheapest first. Allocator settings ("alloc-conf") are among them.
std::span<const RemedyRow> remedy_table();

}  // namespace highwater
