// The report of `scan`: one row per device of each file, who differs and in what, and how far apart
// they are.
#pragma once

#include <string>

#include "tools/studies/scan/scan_run.hpp"
#include "tools/text/output_format.hpp"
#include "tools/text/table.hpp"

namespace highwater {

/// The columns of a row.
const Columns<ScanRow>& scan_columns();

std::string scan_report(const Scan& scan, OutputFormat format);

/// A row as one line of JSON each, with what it holds at the highest live bytes.
std::string scan_lines(const Scan& scan);

}  // namespace highwater
