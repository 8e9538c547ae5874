// --capacity, --alloc-conf, --memory-limit, --memory-fraction: what the allocator works under, for
// every command that replays something.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/options/command_line.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "traces/units.hpp"

namespace highwater {

/// `what_without`: what holds when --capacity is not given, for --help.
void add_memory_options(OptionParser& parser, const char* what_without);

/// What is wrong is appended to `problems`.
MemoryRequest read_memory_options(const boost::program_options::variables_map& values,
                                  std::vector<std::string>& problems);

/// Runs `read`; a mistake joins the others.
template <class Read>
void collect_problems(std::vector<std::string>& problems, const Read& read) {
  try {
    read();
  } catch (const UsageError& error) {
    problems.emplace_back(error.what());
  }
}

}  // namespace highwater
