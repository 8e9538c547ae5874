// Programs that take turns on one GPU (sim/phases): what each phase of each cycle takes, what stays
// from one cycle to the next, and how large a block may be.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/phases/phased_run.hpp"
#include "sim/replay/replay.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/value_search.hpp"

namespace highwater {

/// A program that is its blocks: an engine's weights, its cache.
struct NamedBlock {
  std::string name;
  Bytes size;
};

/// Where a program's requests come from: a plan, a file, or blocks of given sizes.
struct ProgramSource {
  std::string name;
  std::variant<std::shared_ptr<const PlannedRun>, std::string, std::vector<NamedBlock>> source;
};

/// A block of a program whose largest size is wanted.
struct WantedBlock {
  std::size_t program = 0;
  std::size_t block = 0;
};

struct PhasesQuestion {
  std::string file;
  std::vector<ProgramSource> programs;
  std::vector<Phase> phases;
  std::uint64_t cycles = 1;
  MemoryRequest memory;
  std::string torch;  ///< the release whose allocator serves all of them
  std::optional<WantedBlock> wanted;
};

/// How far a phase came.
enum class PhaseEnd : std::uint8_t { complete, out_of_memory_waking, out_of_memory };

/// One phase of one cycle.
struct PhaseRow {
  PhaseTurn turn;
  Usage waking;  ///< the highest values until all that wakes is there
  Usage peak;    ///< of the whole phase, waking included
  Usage end;
  PhaseEnd ended = PhaseEnd::complete;
};

struct PhasesAnswer {
  PhasesQuestion question;
  ReplayResult result;
  std::vector<PhaseRow> rows;  ///< up to a failure
  std::vector<std::string> notes;
  std::optional<ValueSearch> found;  ///< MiB of the wanted block

  [[nodiscard]] bool fits() const { return result.counts.ooms == 0; }

  /// The row with the highest reserved memory; rows are never empty.
  [[nodiscard]] const PhaseRow& highest() const;
};

/// @throws InputError for a program whose file cannot be read; UsageError
PhasesAnswer phases_answer(PhasesQuestion question);

}  // namespace highwater
