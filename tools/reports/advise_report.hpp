// The report of `advise`: the string to paste, what it gains, and what else was tried.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "tools/studies/advise_run.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// One sentence: the settings to use, to keep the present ones, or why nothing is advised.
std::string advice_verdict(const AdviceReport& report);

/// One device: `verdict`, `advice` (the settings string; null: keep, or none), `present`, `trials`
/// best first, `noise_bytes`, `trusted`, `trust`.
boost::json::object advice_json(const AdviceReport& report);

/// The trials best first, `top` of them; exact bytes when `exact`.
TextTable advice_table(const AdviceReport& report, std::size_t top, bool exact);

/// For people, as aligned columns or as Markdown.
std::string advice_text(const AdviceReport& report, OutputFormat format, std::size_t top);

}  // namespace highwater
