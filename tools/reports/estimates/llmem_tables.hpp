// The tables of the LLMem paper (arXiv 2404.10933) computed anew, beside what it prints.
#pragma once

#include <string>

#include "tools/text/output_format.hpp"

namespace highwater {

/// Table 2: printed figures, their errors, and the paper's formulas at the batch they imply.
/// Table 3: Algorithm 1 by the formulas and by the published code, beside what the paper prints;
/// where they disagree, why. Memory in MiB, errors in percent.
std::string llmem_tables_report(OutputFormat format);

}  // namespace highwater
