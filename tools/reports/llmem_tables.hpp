// The tables of the LLMem paper (arXiv 2404.10933) computed anew, beside what it prints.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/text/metrics.hpp"

namespace highwater {

/// Table 2: printed figures, their errors, and the paper's formulas at the batch they imply.
TextTable llmem_table2_anew();

/// Table 3: Algorithm 1 by the formulas and by the published code, beside what the paper prints.
TextTable llmem_table3_anew();

/// Where the formulas and Table 3 disagree, and why; one line per model.
std::vector<std::string> llmem_mismatches();

/// Both tables and the mismatches, for programs: memory in MiB, errors in percent.
boost::json::object llmem_tables_json();

}  // namespace highwater
