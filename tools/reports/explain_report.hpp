// The report of `explain`: the verdict first, then the evidence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/studies/explanation/explain_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// People see `top` rows of each list. JSON, per device: `verdict`, `cause`, `oom`, `free`,
/// `counterfactuals`, `holders`, `pinned`, `bounds`, `drift`, `trust`.
std::string explain_report(const std::vector<Explanation>& devices, OutputFormat format,
                           std::size_t top);

}  // namespace highwater
