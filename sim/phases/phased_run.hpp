// Programs that take turns in one process: a trainer, an engine that generates, a transfer of
// weights. Each goes on where it stopped, on the allocator that all of them share; while others run
// it may sleep, which gives memory back and takes it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

/// What one of them asks for, in parts of which each turn takes one or more. After the last part it
/// keeps what it has and asks for nothing.
struct PhasedProgram {
  std::string name;
  std::shared_ptr<const RequestTrace> trace;
  std::vector<std::size_t> part_ends;    ///< events; ascending, the last: all
  std::vector<std::string> block_names;  ///< by allocation; empty: they have none
};

/// What of a program sleeps.
struct Sleeper {
  std::size_t program = 0;
  std::vector<std::string> parts;  ///< names of blocks, or of categories; empty: all of it

  bool operator==(const Sleeper&) const = default;
};

struct Phase {
  std::string name;
  std::optional<std::size_t> program;  ///< whose turn it is; absent: nobody's
  std::size_t parts = 1;               ///< of it, for each turn
  std::vector<Sleeper> asleep;  ///< while the phase lasts; whatever else slept wakes before it
  bool empties_cache = false;   ///< torch.cuda.empty_cache(), once the sleepers have gone
  std::optional<std::string> settings;  ///< applied first
};

/// A phase as it is carried out.
struct PhaseTurn {
  std::uint64_t cycle = 0;
  std::size_t phase = 0;
  Bytes slept;              ///< given back at its begin
  Bytes woken;              ///< taken again at its begin
  std::vector<Bytes> live;  ///< asked for and held at its end, by program
};

struct PhasedRun {
  RequestTrace trace;  ///< step markers begin cycles; each turn has two phase markers, since what
                       ///< sleeps and wakes before it has its own
  std::vector<PhaseTurn> turns;
};

/// Behind the name of a phase, in the marker of what wakes before it.
inline constexpr const char* kWaking = " (waking)";

/// The phases, in order, `cycles` times. Programs begin with their first turn. What wakes is asked
/// for in the order in which it was first; what a program frees while it sleeps does not wake.
PhasedRun phased_run(const std::vector<PhasedProgram>& programs, const std::vector<Phase>& phases,
                     std::uint64_t cycles);

}  // namespace highwater
