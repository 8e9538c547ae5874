// The report of `replay`: metrics, out-of-memory accounts, decisions, and the trust line.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "tools/studies/runs/replay_run.hpp"
#include "tools/text/metrics.hpp"

namespace highwater {

/// Every number of the replay of one device, under its JSON key.
MetricList replay_metrics(const DeviceReplay& replay);

/// One object of the list `devices`: the metrics plus lists (ooms, notes, decisions). `ooms` holds
/// the first failures only: `ooms_listed` of `counts.ooms`.
boost::json::object replay_json(const DeviceReplay& replay);

/// What a reader of the numbers should know, one line each.
std::vector<std::string> replay_notes(const DeviceReplay& replay);

/// The account of each failed allocation, for people.
std::string describe_ooms(const DeviceReplay& replay);

/// "OP ACTION ADDRESS SIZE STREAM" lines, as in the conformance vectors.
std::string decision_lines(const DeviceReplay& replay);

}  // namespace highwater
