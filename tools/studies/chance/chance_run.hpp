// How a run's memory is distributed where chance decides about its batches: the same draws under
// the settings asked for, and under others that may need less.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/fleet/fleet.hpp"
#include "tools/studies/chance/chance_summary.hpp"
#include "tools/studies/chance/plan_steps.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/workload.hpp"
#include "tools/studies/sweep/sweep_axes.hpp"

namespace highwater {

/// What is tried beside the plan as it is.
enum class ChanceCases : std::uint8_t {
  none,
  product,     ///< every combination of the axes
  one_by_one,  ///< settings and paddings that are worth trying, each alone
};

struct ChanceQuestion {
  PlannedRun run;
  MemoryRequest memory;
  OptionWords words;  ///< what the command line says about the plan
  std::size_t runs = 0;
  std::size_t steps = 0;
  std::uint64_t seed = 0;
  std::optional<LengthSource> lengths;
  std::string lengths_text;  ///< as given
  SamplingStrategy strategy = SamplingStrategy::random;
  std::int64_t pad_to_multiple_of = 1;
  std::optional<Distribution> loads;
  std::string loads_text;
  LoadKind load = LoadKind::busiest;
  std::optional<Distribution> lags;
  std::string lags_text;
  ChanceCases cases = ChanceCases::none;
  std::vector<SweepAxis> axes;      ///< of the allocator, its limits and the plan
  std::vector<SweepAxis> batching;  ///< of padding and sampling
};

/// The length of a batch of samples that are all as short, or as long, as can be.
struct LengthRange {
  std::int64_t shortest = 1;
  std::int64_t longest = 1;
};

LengthRange batch_range(const ChanceQuestion& question, std::int64_t multiple);

/// One set of settings, over all runs.
struct ChanceCase {
  std::vector<std::pair<std::string, std::string>> set;  ///< empty: as asked
  std::optional<std::string> problem;                    ///< why it cannot be
  ChanceSummary summary;
  PairedChange change;  ///< against the first case
  std::optional<Bytes> available;
  Settings settings;
};

struct ChanceStudy {
  ChanceQuestion question;
  Workload longest;  ///< every batch as long as can be: what a plan without chance would say
  std::int64_t longest_length = 0;
  std::vector<ChanceCase> cases;  ///< as asked first
  std::uint64_t requests = 0;     ///< of all runs of the first case
  std::uint64_t carried_out = 0;

  /// Fewest failures, then the lowest 95th percentile.
  [[nodiscard]] std::size_t best() const;
};

/// A run is a piece. @throws InputError, UsageError, PiecesOnly where another process prints the
/// answer
ChanceStudy study_chance(ChanceQuestion question, Fleet& fleet);

/// The options of `set` that decide about batches.
bool is_batching_key(const std::string& key);

/// Sets one of them. @throws UsageError for a wrong value
void set_batching(const std::string& key, const std::string& value, SamplingStrategy& strategy,
                  std::int64_t& multiple);

}  // namespace highwater
