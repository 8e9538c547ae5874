// How often a mixture's router chooses each expert.
//
// Which experts a token chooses depends on data, which a plan lacks, so the plan says how the load
// is spread. The rule is the recorder's
// (tools/python/recorder/highwater_record/experts/routing.py): a plan and a recording with the same
// --moe-load give each expert the same number of tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace highwater {

struct MoeLoad {
  /// The busiest rank, or where experts are not spread over ranks the busiest expert, gets this
  /// many times the mean.
  std::optional<double> busiest;
  std::optional<double> zipf;  ///< expert i, from 1, gets a share in proportion to 1 / i^zipf
  /// Of each expert; empty: even, or as the others say. Several lists: one for each group of ranks
  /// that share experts.
  std::vector<double> shares;
  std::string file;  ///< where the shares are from

  bool operator==(const MoeLoad&) const = default;
};

constexpr bool is_even(const MoeLoad& load) {
  return !load.busiest && !load.zipf && load.shares.empty();
}

/// The load of one of the groups of ranks that share `experts` experts.
MoeLoad load_of_group(const MoeLoad& load, std::int64_t experts, int group);

/// What routing depends on.
struct Routing {
  std::int64_t tokens = 0;  ///< of this rank
  std::int64_t experts = 1;
  std::int64_t top_k = 1;
};

/// The share of each expert, where `ranks` ranks hold the same number of them; empty if even.
std::vector<double> expert_shares(const MoeLoad& load, std::int64_t experts, int ranks = 1);

/// Tokens of each expert: tokens * top_k in all, and no expert gets a token twice.
/// @pre shares, if there are any, are one for each expert (load_of_group)
std::vector<std::int64_t> expert_counts(const MoeLoad& load, const Routing& routing, int ranks = 1);

}  // namespace highwater
