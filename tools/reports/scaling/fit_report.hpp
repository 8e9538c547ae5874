// The report of `fit`: the recordings and how well the program gives them again, its formulas by
// kind, and what differs between the recordings.
#pragma once

#include <string>

#include "tools/studies/scaling/fit_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// `output` is the file that was written.
std::string fit_report(const FittedFiles& fitted, const std::string& output, OutputFormat format);

}  // namespace highwater
