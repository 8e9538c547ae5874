// The report of `reduce`: what is left of a run, and where it was written.
#pragma once

#include <string>

#include "tools/studies/reduction/reduce_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// Where the answer went; empty: nowhere.
struct ReducedFiles {
  std::string trace;
  std::string script;
};

/// "out of memory (fragmentation): 12 allocations, ...".
std::string run_sentence(const ReducedRun& run);

/// The command that runs `script` on a fake GPU under the conditions of the replay.
std::string record_line(const ReducedRun& run, const std::string& script);

std::string reduce_report(const ReducedRun& run, const ReducedFiles& files, OutputFormat format);

}  // namespace highwater
