// The report of `validate --reference`: the cases, what failed, and what is known not to match.
#pragma once

#include <string>
#include <vector>

#include "tools/studies/validation/reference_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

std::string reference_report(const std::vector<ReferenceResult>& results, OutputFormat format);

std::uint64_t count_results(const std::vector<ReferenceResult>& results, ReferenceVerdict verdict);

}  // namespace highwater
