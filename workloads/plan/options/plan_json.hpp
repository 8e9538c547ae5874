// A plan as JSON: every option under its name with underscores, numbers as numbers, lists as lists.
#pragma once

#include <boost/json/fwd.hpp>

namespace highwater {

struct TrainingPlan;

boost::json::object plan_json(const TrainingPlan& plan);

}  // namespace highwater
