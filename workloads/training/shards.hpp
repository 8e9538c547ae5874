// What distinguishes the ranks of one pipeline stage: their places among those that share data.
//
// Each strategy cuts parameters, gradients or optimizer states over these ranks in its own way.
// Where the cut does not follow from the sizes alone, each place has a signature of its own.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "workloads/training/parameters.hpp"

namespace highwater {

struct TrainingPlan;

/// Numbers that distinguish shards.
using ShardSignature = std::vector<std::int64_t>;

enum class ShardDetail {
  memory,    ///< how much a rank holds
  requests,  ///< every request that it makes
};

class Shards {
 public:
  /// `plan` must outlive it.
  Shards(const TrainingPlan& plan, ShardDetail detail);

  /// The signature of `place`, of dp * cp, in a pipeline stage: equal ones hold equally much, or
  /// make the same requests.
  [[nodiscard]] ShardSignature of(int stage, int place) const;

  /// Number of elements that distinguishes shards by size; a larger one takes more memory.
  [[nodiscard]] std::int64_t share(int place) const;

  /// What cuts of unequal size give it: of FSDP2 rows, of DeepSpeed's ZeRO-1 and 2 elements of the
  /// gradients that it keeps, of ZeroRedundancyOptimizer those that it steps, of ZeRO-3 1 for the
  /// last rank, which has the padding. 0 for others.
  [[nodiscard]] std::int64_t held(int place) const;

  /// Tokens of the rank's experts, in multiples of the mean rank's.
  [[nodiscard]] double expert_load(int place) const;

 private:
  [[nodiscard]] ShardSignature memory_of(int place) const;
  [[nodiscard]] ShardSignature requests_of(int stage, int place) const;
  [[nodiscard]] ShardSignature position(int place) const;
  [[nodiscard]] ShardSignature rows(int ranks, int place) const;
  [[nodiscard]] ShardSignature paddings(int place) const;
  [[nodiscard]] ShardSignature expert_loads(int place) const;
  [[nodiscard]] const std::vector<ShardSignature>& optimizer_parts(int stage) const;

  const TrainingPlan& plan_;
  ShardDetail detail_;
  std::vector<ParameterInfo> parameters_;
  std::set<std::int64_t>
      divided_sizes_;  ///< rows of parameters, and columns where Muon divides these
  mutable std::map<int, std::vector<ShardSignature>>
      optimizer_parts_;  ///< by stage, once asked for
};

}  // namespace highwater
