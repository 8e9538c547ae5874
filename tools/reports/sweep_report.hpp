// The report of `sweep`: best first for people, in input order for machines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/studies/sweep/sweep_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// For people the first `top` rows, best first, and a conclusion; for machines all of it.
std::string sweep_report(const std::vector<Sweep>& sweeps, OutputFormat format, std::size_t top);

/// A run as one line of JSON. Only the keys and the base of `sweep` are looked at.
std::string sweep_line(const Sweep& sweep, const SweepRun& run);

}  // namespace highwater
