// Who trains a plan, and what wraps its model: tables of which exactly one row fits each plan that
// can be carried out (tests/workloads/training/strategy_table_test.cpp), in whatever order.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "workloads/strategy/strategy.hpp"
#include "workloads/strategy/wrapper.hpp"

namespace highwater {

struct TrainingPlan;

/// An engine with an optimizer of its own.
struct StrategyRow {
  std::string_view name;
  bool (*fits)(const TrainingPlan& plan);
  /// Null: torch.optim around one of the wrappers.
  std::unique_ptr<Strategy> (*make)(models::LanguageModel& model, const TrainingPlan& plan);
};

std::span<const StrategyRow> strategy_rows();

/// What a script wraps around the model, or around each stage of a pipeline, to train with
/// torch.optim.
struct WrapperRow {
  std::string_view name;
  bool (*fits)(const TrainingPlan& plan);
  std::unique_ptr<Wrapper> (*make)(models::LanguageModel& part, const TrainingPlan& plan,
                                   ModelOrder order);
};

std::span<const WrapperRow> wrapper_rows();

/// The row that fits. @throws std::logic_error if that is not exactly one
template <class Row>
const Row& only_row(std::span<const Row> rows, const TrainingPlan& plan) {
  const Row* only = nullptr;
  for (const Row& row : rows) {
    if (row.fits(plan)) {
      if (only != nullptr) {
        throw std::logic_error("a plan fits " + std::string(only->name) + " and " +
                               std::string(row.name));
      }
      only = &row;
    }
  }
  if (only == nullptr) {
    throw std::logic_error("a plan fits no strategy");
  }
  return *only;
}

}  // namespace highwater
