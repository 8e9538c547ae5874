// A run by call stack, for the profilers' formats: what lives at one moment of it, and all that was
// allocated in the whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/peak/live_bytes.hpp"
#include "tools/studies/runs/observed_run.hpp"
#include "traces/stack_table.hpp"

namespace highwater {

/// Live requested bytes. @throws UsageError for an operation that the run does not have
LiveMemory live_in(const ObservedRun& run, const LiveChoice& moment);

struct ProfiledStack {
  StackId stack;  ///< none: no stack was recorded
  StackHolder live;
  StackHolder allocated;  ///< all that succeeded, freed or not
};

/// In the order of the stacks. @throws UsageError for an operation that the run does not have
std::vector<ProfiledStack> profile_of(const ObservedRun& run, const LiveChoice& moment);

/// A frame in words that are safe to show.
struct FrameWords {
  std::string function;
  std::string file;
  std::int64_t line = 0;  ///< 0: unknown, or C++

  auto operator<=>(const FrameWords&) const = default;
};

/// Of a stack, innermost frame first. One frame that says so where none was recorded.
std::vector<FrameWords> frames_of(const SideTables& tables, StackId stack);

}  // namespace highwater
