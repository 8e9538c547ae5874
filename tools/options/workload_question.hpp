// The command line of a question about a file or a plan whose answer is a report with lists:
// explain and advise.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/options/command_line.hpp"
#include "tools/studies/runs/workload_request.hpp"

namespace highwater {

struct WorkloadQuestion {
  WorkloadRequest workload;
  OutputFormat format = OutputFormat::table;
  std::size_t top = 0;                ///< rows of each list
  std::vector<std::string> settings;  ///< advise: strings to be tried as well
};

/// @throws UsageErrors with everything that is wrong
WorkloadQuestion read_question(const Command& command, const Arguments& arguments);

}  // namespace highwater
