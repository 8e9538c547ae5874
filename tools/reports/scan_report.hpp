// The report of `scan`: one row per device of each file, who differs, and how far apart they are.
#pragma once

#include <string>

#include "tools/studies/scan_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

std::string scan_report(const Scan& scan, OutputFormat format);

}  // namespace highwater
