// The report of `replay`: metrics, out-of-memory accounts, decisions, and the trust line.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "tools/studies/runs/replay_run.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/report.hpp"

namespace highwater {

/// Every number of the replay of one device, under its JSON key.
MetricList replay_metrics(const DeviceReplay& replay);

/// One object of the list `devices`: the metrics plus lists (ooms, notes, decisions). `ooms` holds
/// the first failures only: `ooms_listed` of `counts.ooms`.
boost::json::object replay_json(const DeviceReplay& replay);

/// What a reader of the numbers should know, one sentence each; first that a what-if is uncertain.
std::vector<std::string> replay_notes(const DeviceReplay& replay);

/// Those that people read below the numbers; that a what-if is uncertain is the first line of all.
std::vector<std::string> notes_below(const DeviceReplay& replay);

/// The answer in one sentence: how much was reserved at most, or which request failed.
std::string replay_verdict(const DeviceReplay& replay);

/// "reserved by private pools: 2.21 GiB of the peak, 2.21 GiB at the end"; empty: there are none.
std::string private_pools_line(const ReplayResult& result);

/// All as lines of a report.
void add_first_line(const DeviceReplay& replay, Report& report);
void add_private_pools(const ReplayResult& result, Report& report);
void add_notes(const DeviceReplay& replay, Report& report);

/// The account of each failed allocation, for people.
std::string describe_ooms(const DeviceReplay& replay);

/// "OP ACTION ADDRESS SIZE STREAM" lines, as in the conformance vectors.
std::string decision_lines(const DeviceReplay& replay);

}  // namespace highwater
