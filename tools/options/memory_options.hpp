// --capacity, --alloc-conf, --memory-limit, --memory-fraction: what the allocator works under, for
// every command that replays something.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/options/command_line.hpp"
#include "traces/units.hpp"

namespace highwater {

/// The options that concern the allocator and the device rather than the plan.
struct MemoryRequest {
  std::optional<std::string> alloc_conf;
  std::optional<Bytes> capacity;  ///< all of it for the allocator; replaces the GPU's own
  std::optional<Bytes> memory_limit;
  std::optional<double> memory_fraction;  ///< 0 to 1

  /// Whether any of the three that bound the memory is given.
  [[nodiscard]] bool has_limit() const { return capacity || memory_limit || memory_fraction; }
};

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
