// The report of `explain`: the verdict first, then the evidence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/studies/explanation/explain_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// People see `top` rows of each list. The keys of JSON are in explain_members.hpp.
std::string explain_report(const std::vector<Explanation>& devices, OutputFormat format,
                           std::size_t top);

/// The schema of its JSON, and of what it says of a log.
boost::json::object explain_schema();

}  // namespace highwater
