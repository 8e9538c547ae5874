// The report of `advise`: the string to paste, what it gains, and what else was tried.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/studies/explanation/advise_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// One sentence: the settings to use, to keep the present ones, or why nothing is advised.
std::string advice_verdict(const AdviceReport& report);

/// People see the best `top` settings of each device. JSON, per device: `verdict`, `advice` (the
/// settings string; null: keep, or none), `present`, `trials` best first, `noise_bytes`, `trusted`,
/// `trust`.
std::string advise_report(const std::vector<AdviceReport>& devices, OutputFormat format,
                          std::size_t top);

}  // namespace highwater
