// The report of `explain`: the verdict first, then the evidence.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "tools/studies/explain_run.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// One device: `verdict`, `cause`, `oom`, `free`, `counterfactuals`, `holders`, `pinned`, `bounds`,
/// `growth`, `trust`.
boost::json::object explanation_json(const Explanation& explanation);

/// For people, `top` rows of each list, as aligned columns or as Markdown.
std::string explanation_text(const Explanation& explanation, OutputFormat format, std::size_t top);

/// Every number with its JSON key: what CSV shows.
MetricList explanation_metrics(const Explanation& explanation);

}  // namespace highwater
