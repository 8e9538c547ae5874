// The plans that were run, in this order: where each had its workspace.
#pragma once

#include <cstdint>
#include <string>

namespace highwater::fakecuda {

/// One with a workspace at `address`; `graph`: the content of its operations, empty if nobody knows
/// it.
void note_execution(std::uint64_t address, const std::string& graph);

}  // namespace highwater::fakecuda
