// The ranks over which a mixture's experts are spread, and how many tokens each of them receives.
//
// Source: Megatron-Core 0.16.1, core/transformer/moe/{token_dispatcher,moe_utils}.py and
// core/tensor_parallel/mappings.py (_AllToAll). Which tokens choose which expert depends on data; a
// plan's MoeLoad states how many do, and every rank's tokens choose alike.
#pragma once

#include <optional>
#include <vector>

#include "workloads/distributed/process_group.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/moe_load.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::megatron {

/// Tokens of one rank routed to the experts of one layer, each counted once for every expert that
/// it chose.
struct TokenCounts {
  std::int64_t sent = 0;               ///< of this rank, to all ranks
  std::vector<std::int64_t> received;  ///< for each expert of this rank, from all ranks

  [[nodiscard]] std::int64_t all_received() const;

  bool operator==(const TokenCounts&) const = default;
};

/// Without a capacity: what the experts of this place of the group are sent by all of its ranks.
TokenCounts dropless_counts(const Routing& routing, const GroupPlace& group, const MoeLoad& load);

/// Every expert takes `capacity` tokens from each rank.
TokenCounts padded_counts(const Routing& routing, const GroupPlace& group, std::int64_t capacity);

/// get_capacity: ceil(tokens * top_k / experts * factor).
std::int64_t expert_capacity(const Routing& routing, double factor);

class ExpertParallel {
 public:
  ExpertParallel(eager::Runtime& runtime, const Parallelism& plan, MoeLoad load);

  [[nodiscard]] const GroupPlace& place() const { return place_; }

  [[nodiscard]] int size() const { return place_.ranks; }

  [[nodiscard]] std::optional<double> capacity_factor() const { return capacity_factor_; }

  [[nodiscard]] TokenCounts counts(const Routing& routing) const;

  /// Whether the routers' matrix products already have their workspace.
  [[nodiscard]] bool& has_workspace() { return has_workspace_; }

  /// all_to_all of rows; the result has `rows` of them. For a group of one, the input itself.
  eager::Tensor exchange(const eager::Tensor& input, std::int64_t rows);

  /// What this rank learns about all ranks' counts from `per_expert`, its tokens for each expert:
  /// allocated and freed.
  void gather_counts(int tensor_ranks, std::int64_t experts, eager::Tensor per_expert);

 private:
  eager::Tensor exchange_block(const eager::Tensor& input, std::int64_t rows);

  dist::ProcessGroup group_;
  GroupPlace place_;
  std::optional<double> capacity_factor_;
  MoeLoad load_;
  bool has_workspace_ = false;
};

}  // namespace highwater::megatron
