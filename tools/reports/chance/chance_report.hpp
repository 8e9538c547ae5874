// The report of `chance`: how peak reserved is distributed, how likely memory runs out by a step,
// whether reserved still grows, and what would need less.
#pragma once

#include <string>

#include "tools/studies/chance/chance_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

std::string chance_report(const ChanceStudy& study, OutputFormat format);

}  // namespace highwater
