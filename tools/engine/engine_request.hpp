// A plan as the Python half of the engine reads it (tools/python/engine/highwater_engine/job.py).
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

namespace highwater {

struct TrainingPlan;

/// The options of `plan` that its framework and its other options do not imply, with underscores:
/// what a script has to say.
std::vector<std::string> changed_options(const TrainingPlan& plan);

/// {"options": ..., "changed": [...], "model": what it is and what it is fed, "rank": ...}
boost::json::object engine_request(const TrainingPlan& plan);

}  // namespace highwater
