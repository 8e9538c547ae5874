// What makes a plan fit, each answer simulated before it is given, the cheapest first.
//
// The remedies are a table in order of what they cost: what changes neither the result nor the
// time, what costs time, what rounds more coarsely, what trains less (remedy_table.hpp). With the
// first i remedies together the run fits or not; the first i for which it does names a remedy that
// nothing cheaper replaces. Of those before it the ones that turn out not to be needed are dropped,
// the dearest first, and what is needed is left out in turn, where dearer ones beside it make up
// for it. Further answers do without that remedy and need a dearer one. That every remedy lowers
// the need, or leaves it, is assumed only to skip simulations: what is offered was simulated as it
// is offered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/rank_peaks.hpp"
#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/sources/plan_source.hpp"
#include "workloads/sources/programs/own_changes.hpp"

namespace highwater {

struct Simulation;

/// A plan as the command line has it.
struct RemedyQuestion {
  OptionWords plan;
  ModelSpec model;  ///< that `plan` names
  MemoryRequest memory;
  RankChoice ranks;
  int worst_rank = 0;
  Bytes needed;                          ///< by the allocator, of a plan that does not fit
  std::vector<PlanSource> sources = {};  ///< that the plan was read from
};

/// About a plan that was simulated, by the options that say it. Remedies are many runs: the model
/// makes them wherever it covers the plan. `sources` are those of --from.
RemedyQuestion question_about(const OptionWords& given, const Simulation& simulation,
                              const MemoryRequest& memory, RankChoice ranks = {},
                              const std::vector<PlanSource>& sources = {});

/// The plan with some options changed, simulated.
struct Remedy {
  OptionWords options;             ///< "checkpoint" "full", as on the command line
  std::vector<std::string> costs;  ///< what each asks of the run: "recomputes the forward"; ...
  bool fits = false;
  Bytes peak;       ///< reserved, of the worst rank; without a limit where it does not fit
  Bytes available;  ///< to the allocator
  /// The same change in the words of the program that trains; empty where it has none.
  std::vector<OwnChange> own = {};

  [[nodiscard]] Bytes spare() const;
};

/// "--checkpoint full --optimizer adamw-8bit", quoted for a shell.
std::string option_line(const OptionWords& options);

struct Remedies {
  std::vector<Remedy> fitting;     ///< cheapest first
  std::optional<Remedy> together;  ///< no change of the plan fits: all that go together
};

/// For a plan that does not fit.
Remedies find_remedies(const RemedyQuestion& question);

/// A margin below this share of the memory is thin: two runs of one program usually differ by less
/// than 2 % (kLeastGain), and of what lies outside the allocator only an estimate is known.
inline constexpr double kThinMargin = 0.03;

bool is_thin(Bytes peak, Bytes available);

/// For a plan that fits with a thin margin: single remedies that leave one which is not thin, the
/// cheapest first. Those that train something else are not tried.
std::vector<Remedy> wider_margins(const RemedyQuestion& question);

}  // namespace highwater
