#include "workloads/plan/options/plan_json.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <boost/json.hpp>

#include "traces/overloaded.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// Whole numbers have no fraction, whatever their type in the plan.
boost::json::value number_json(double number) {
  constexpr double kExact = 1e15;  // below it every whole number is itself
  if (std::trunc(number) == number && std::abs(number) < kExact) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

boost::json::value to_json(const OptionValue& value) {
  return std::visit(Overloaded{[](double number) { return number_json(number); },
                               [](const std::vector<std::int64_t>& list) -> boost::json::value {
                                 return boost::json::array(list.begin(), list.end());
                               },
                               [](const auto& other) { return boost::json::value(other); }},
                    value);
}

}  // namespace

boost::json::object plan_json(const TrainingPlan& plan) {
  boost::json::object object;
  for (const Option& option : option_table()) {
    if (option.text(plan).empty()) {
      continue;
    }
    std::string key(option.name);
    std::ranges::replace(key, '-', '_');
    object[key] = to_json(option.axis.get(plan));
  }
  object["moe_imbalance"] = number_json(plan.moe_load.busiest.value_or(1));  // before moe_load
  return object;
}

}  // namespace highwater
