// The report of `phases`: the answer first, then every phase of every cycle, and what stays.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "tools/studies/phases/phases_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// "FITS in 79.15 GiB: ..."
std::string phases_sentence(const PhasesAnswer& answer);

std::string phases_report(const PhasesAnswer& answer, OutputFormat format);

/// The schema of its JSON.
boost::json::object phases_schema();

}  // namespace highwater
