// The options of a question about a file or a plan.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/options/command_line.hpp"

namespace highwater {

struct WorkloadRequest;

/// Adds the positional FILE, every plan option, the memory options and --device.
void add_workload_options(OptionParser& parser);

/// @throws UsageErrors with everything that is wrong, `problems` included
WorkloadRequest read_workload_options(const boost::program_options::variables_map& values,
                                      std::vector<std::string> problems = {});

/// The same for commands that take several: one request per FILE, `most` at the most, or the
/// plan's.
std::vector<WorkloadRequest> read_workloads_options(
    const boost::program_options::variables_map& values, std::size_t most,
    std::vector<std::string> problems = {});

}  // namespace highwater
