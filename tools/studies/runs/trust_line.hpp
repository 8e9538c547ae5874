// The line that closes every report: how reliable its numbers are.
#pragma once

#include <string>

#include "tools/studies/runs/replay_run.hpp"

namespace highwater {

struct Simulation;

/// Version and settings modelled, events read and dropped, truncation, fidelity.
std::string trust_line(const DeviceReplay& replay);

/// Version, settings, events, and whose requests these are.
std::string simulation_trust_line(const Simulation& simulation);

}  // namespace highwater
