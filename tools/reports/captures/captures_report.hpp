// The report of `captures`: the captures, what they take in each arrangement, and the best one.
#pragma once

#include <string>
#include <vector>

#include "tools/studies/captures/captures_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// "4 captures reserve 628.00 MiB in private pools; 250.00 MiB with one pool, one stream: ..."
std::string captures_sentence(const CapturesRun& run);

std::string captures_report(const std::vector<CapturesRun>& runs, OutputFormat format);

}  // namespace highwater
