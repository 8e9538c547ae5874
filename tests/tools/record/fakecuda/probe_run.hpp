// Runs a scenario of the probe program (probe.hpp) in a process of its own.
#pragma once

#include <string>

namespace highwater {

struct ProbeRun {
  int code = 0;
  std::string out;  ///< what it printed, with errors
};

/// The scenario under CUDA `major`; `environment` is "NAME=value NAME='other value'", as a shell
/// reads it.
ProbeRun run_probe(int major, const std::string& scenario, const std::string& environment = "");

}  // namespace highwater
