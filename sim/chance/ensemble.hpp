// Many runs that differ in what chance decides. Each run depends on its number and on no other run,
// so that anybody can carry it out (tools/studies/chance/ensemble_run.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/chance/length_sampler.hpp"
#include "sim/chance/piece_source.hpp"
#include "sim/replay/replay.hpp"

namespace highwater {

/// What is drawn for the steps of a run; what is absent stays as the source has it.
struct Draws {
  std::optional<LengthSource> lengths;
  std::vector<std::int64_t> fixed_lengths;  ///< of a step's micro-batches, where none are drawn
  Batching batching;
  std::optional<Distribution> loads;  ///< for each step
  std::optional<Distribution> lags;   ///< for each run
  std::int64_t fixed_lag = 0;         ///< where none is drawn
};

struct EnsembleOptions {
  std::size_t runs = 0;
  std::size_t steps = 0;
  std::uint64_t seed = 0;
  Draws draws;
  ReplayOptions memory;  ///< settings and limits of each run
};

/// Where a run ran out of memory.
struct RunFailure {
  std::size_t step = 0;     ///< from 0
  bool was_enough = false;  ///< what was allocated and the request together fit into the limit
};

/// One run.
struct DrawnRun {
  Bytes peak_reserved;
  Bytes peak_allocated;
  std::optional<RunFailure> failure;
  /// After each of the ensemble's marks; a run that failed keeps its last values.
  std::vector<Bytes> highest;   ///< peak reserved so far
  std::vector<Bytes> reserved;  ///< reserved then
};

struct Ensemble {
  std::vector<std::size_t> marks;  ///< numbers of steps, ascending; the last is that of all
  std::vector<DrawnRun> runs;      ///< by number
  std::uint64_t requests = 0;      ///< of all runs
  std::uint64_t carried_out = 0;   ///< of these; others were known from a state that came back
};

/// Numbers of steps after which a run is looked at: every one at first, then at growing distances,
/// and half of all.
std::vector<std::size_t> marks_of(std::size_t steps);

/// Draws what the steps of run `run` are.
class StepDraws {
 public:
  StepDraws(const EnsembleOptions& options, std::size_t run);

  const StepDraw& next();

 private:
  const Draws* draws_;
  std::optional<LengthSampler> lengths_;
  RandomNumbers loads_;
  StepDraw draw_;
};

/// A run and how many requests it made.
struct CountedRun {
  DrawnRun run;
  std::uint64_t requests = 0;
};

/// Run number `run`. @throws InputError
CountedRun carry_out_run(PieceSource& source, const EnsembleOptions& options, std::size_t run);

}  // namespace highwater
