// The report of `sweep`: best first for people, in input order for machines.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/studies/sweep_run.hpp"
#include "tools/text/metrics.hpp"

namespace highwater {

/// One run: `device`, `set`, `reserved_vs_base`, and the keys of a device of `replay`; `problem`
/// instead of these for a plan that cannot be.
boost::json::object sweep_run_json(const SweepRun& run);

/// The whole of it: `workload`, `bases` (one per device), `runs` in input order, `best` (per
/// device, an index into runs), `trust` (per device).
boost::json::object sweep_json(const std::vector<Sweep>& sweeps);

/// Best first, with a column for each key of --set; exact bytes when `exact`. Behind the first
/// `top` rows one says how many more there are.
TextTable sweep_table(const Sweep& sweep, bool exact,
                      std::size_t top = std::numeric_limits<std::size_t>::max());

/// The sentence behind the table: the best run against the base.
std::string sweep_conclusion(const Sweep& sweep);

}  // namespace highwater
