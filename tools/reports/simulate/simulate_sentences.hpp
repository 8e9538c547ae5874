// What `simulate` says in sentences: whether the plan fits, why not, and what would help.
#pragma once

#include <string>
#include <vector>

#include "tools/studies/plan_search/remedies.hpp"

namespace highwater {

struct Gpu;
struct Simulation;

/// "21.3 %"; "-" of nothing.
std::string share(Bytes part, Bytes whole);

/// One sentence: whether the plan fits, on what, and what is left or needed; what it was simulated
/// without, where that could turn the answer around.
std::string verdict(const Simulation& simulation);

/// The same, which of unlimited memory names the first of `gpus`, those that hold the plan.
std::string verdict(const Simulation& simulation, const std::vector<const Gpu*>& gpus);

/// Where memory ran out and what was there then; empty if it did not.
std::string failure_text(const Simulation& simulation);

/// Parameters and the model's family.
std::string model_line(const Simulation& simulation);

/// What the process takes beside the allocator.
std::string outside_line(const Simulation& simulation);

/// Why the list of remedies has no change of the plan; empty if it has one.
std::string remedies_failed(const Remedies& remedies);

/// A line for each remedy that makes the plan fit.
std::vector<std::string> remedy_lines(const Remedies& remedies);

/// A line for each change that widens the margin.
std::vector<std::string> wider_lines(const std::vector<Remedy>& wider);

}  // namespace highwater
