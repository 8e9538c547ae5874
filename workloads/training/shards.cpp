#include "workloads/training/shards.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "workloads/distributed/ddp/zero_redundancy.hpp"
#include "workloads/megatron/data_parallel/optimizer_shards.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

// torch.chunk: every rank except the last ones gets the rounded-up share.
std::int64_t rows_of(std::int64_t rows, int ranks, int rank) {
  const std::int64_t share = (rows + ranks - 1) / ranks;
  return std::clamp<std::int64_t>(rows - share * rank, 0, share);
}

// Elements of the whole parameters that this rank's part of the flat list touches: ZeRO-1 and
// ZeRO-2 keep the gradients of those.
std::int64_t touched_by_partition(const std::vector<ParameterInfo>& parameters, int ranks,
                                  int rank) {
  std::int64_t total = 0;
  for (const ParameterInfo& parameter : parameters) {
    total += parameter.elements;
  }
  const std::int64_t share = (total + ranks - 1) / ranks;
  const std::int64_t begin = share * rank;
  std::int64_t offset = 0;
  std::int64_t touched = 0;
  for (const ParameterInfo& parameter : parameters) {
    const bool overlaps = offset < begin + share && offset + parameter.elements > begin;
    touched += overlaps ? parameter.elements : 0;
    offset += parameter.elements;
  }
  return touched;
}

bool has_distributed_optimizer(const TrainingPlan& plan) {
  return plan.framework == Framework::megatron && plan.parallel.dp_kind == DataParallel::zero1;
}

/// The optimizer's groups, as Wrapper::parameter_groups().
std::vector<std::vector<ParameterInfo>> trained_groups(const TrainingPlan& plan) {
  std::vector<std::vector<ParameterInfo>> groups(plan.optimizer.param_groups == 2 ? 2 : 1);
  for (ParameterInfo& parameter : trained_parameters(plan)) {
    const bool is_vector = parameter.sizes.size() < 2;
    groups[groups.size() == 2 && is_vector ? 1 : 0].push_back(std::move(parameter));
  }
  return groups;
}

/// Elements of the part of each rank of a ZeroRedundancyOptimizer, then the sizes of its tensors.
std::vector<ShardSignature> redundancy_parts(const TrainingPlan& plan) {
  const auto groups = trained_groups(plan);
  std::vector<std::vector<std::int64_t>> elements;
  for (const auto& group : groups) {
    std::ranges::transform(group, std::back_inserter(elements.emplace_back()),
                           &ParameterInfo::elements);
  }
  std::vector<ShardSignature> signatures;
  for (const auto& part : dist::parts_of_ranks(elements, plan.parallel.dp)) {
    ShardSignature& signature = signatures.emplace_back(1);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (const std::size_t j : part[i]) {
        const ParameterInfo& parameter = groups[i][j];
        signature.front() += parameter.elements;
        signature.push_back(std::ssize(parameter.sizes));
        signature.insert(signature.end(), parameter.sizes.begin(), parameter.sizes.end());
      }
      signature.push_back(-1);
    }
  }
  return signatures;
}

/// Of Megatron-Core's distributed optimizer.
std::vector<ShardSignature> megatron_parts(TrainingPlan plan, int stage) {
  const Parallelism& p = plan.parallel;
  plan.parallel.rank = stage * p.dp * p.cp * p.tp;
  eager::Runtime runtime(plan.gpu, {.major = 2, .minor = 6}, {.major = 5, .minor = 12});
  nn::ModelContext context{.runtime = runtime, .plan = plan, .place = eager::Place::host};
  const auto model = models::build_model(context);
  return megatron::optimizer_shards(*model, plan);
}

void append(ShardSignature& signature, const ShardSignature& more) {
  std::ranges::copy(more, std::back_inserter(signature));
}

}  // namespace

Shards::Shards(const TrainingPlan& plan, ShardDetail detail) : plan_(plan), detail_(detail) {
  const Parallelism& p = plan.parallel;
  if (p.dp * p.cp > 1 && p.dp_kind != DataParallel::ddp) {
    parameters_ = model_parameters(plan.model);
    for (const ParameterInfo& parameter : parameters_) {
      divided_sizes_.insert(parameter.sizes.empty() ? 1 : parameter.sizes.front());
      if (plan.optimizer.kind == OptimizerKind::muon && parameter.sizes.size() == 2) {
        divided_sizes_.insert(parameter.sizes.back());  // while its update is made
      }
    }
  }
}

ShardSignature Shards::of(int stage, int place) const {
  ShardSignature signature =
      detail_ == ShardDetail::memory ? memory_of(place) : requests_of(stage, place);
  append(signature, position(place));
  append(signature, expert_loads(place));
  return signature;
}

std::int64_t Shards::share(int place) const {
  ShardSignature parts = memory_of(place);
  append(parts, position(place));
  append(parts, expert_loads(place));
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

std::int64_t Shards::held(int place) const {
  const Parallelism& p = plan_.parallel;
  if (p.dp_kind != DataParallel::fsdp2 && !uses_deepspeed(plan_) && !spreads_states(p.ddp)) {
    return 0;  // parts of equal size, wherever they are cut
  }
  const ShardSignature parts = memory_of(place);
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

double Shards::expert_load(int place) const {
  const ShardSignature loads = expert_loads(place);
  const auto millionths = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  return loads.empty() ? 1 : static_cast<double>(millionths) * plan_.parallel.ep / 1e6;
}

/// Where sequences go around in a ring, later ranks attend to more of them.
ShardSignature Shards::position(int place) const {
  const Parallelism& p = plan_.parallel;
  const bool is_ring =
      p.cp_kind == ContextParallel::ring ||
      (p.cp_kind == ContextParallel::ring_self_attention && detail_ == ShardDetail::requests);
  return {is_ring ? place % p.cp : 0};
}

ShardSignature Shards::memory_of(int place) const {
  const Parallelism& p = plan_.parallel;
  const int ranks = p.dp * p.cp;
  const auto at = static_cast<std::size_t>(place);
  switch (p.dp_kind) {
    case DataParallel::fsdp2:
      return rows(ranks / p.fsdp.replicas, place % (ranks / p.fsdp.replicas));
    case DataParallel::zero1:
    case DataParallel::zero2:
      return {touched_by_partition(parameters_, ranks, place)};
    case DataParallel::zero3:
      return {place == ranks - 1 ? 1 : 0};  // partitions are padded, the last one at its tail
    case DataParallel::ddp:
      return spreads_states(p.ddp) ? ShardSignature{optimizer_parts(0)[at].front()}
                                   : ShardSignature{};
    case DataParallel::zero0:
    case DataParallel::fsdp1:
      return {};
  }
  return {};
}

// FSDP1 and ZeRO-1 and 2 cut lists of parameters in equal parts wherever the cuts fall, and Gemini
// its chunks: no two ranks have parts of the same tensors. accelerate's first rank has the whole
// model while FSDP2 is set up.
ShardSignature Shards::requests_of(int stage, int place) const {
  const Parallelism& p = plan_.parallel;
  if (has_distributed_optimizer(plan_) || spreads_states(p.ddp)) {
    return optimizer_parts(stage)[static_cast<std::size_t>(place)];
  }
  if (plan_.framework == Framework::colossalai_gemini) {
    return {place};
  }
  ShardSignature signature = memory_of(place);
  switch (p.dp_kind) {
    case DataParallel::fsdp1:
    case DataParallel::zero1:
    case DataParallel::zero2:
      return {place};
    case DataParallel::zero3:
      return paddings(place);
    case DataParallel::fsdp2:
      signature.push_back(plan_.framework == Framework::accelerate_fsdp2 && place == 0 ? 1 : 0);
      return signature;
    case DataParallel::ddp:
    case DataParallel::zero0:
      break;
  }
  return signature;
}

ShardSignature Shards::rows(int ranks, int place) const {
  ShardSignature signature;
  for (const std::int64_t size : divided_sizes_) {
    signature.push_back(rows_of(size, ranks, place));
  }
  return signature;
}

/// Elements of each parameter that ZeRO-3 has on this rank.
ShardSignature Shards::paddings(int place) const {
  const int ranks = plan_.parallel.dp * plan_.parallel.cp;
  std::set<std::int64_t> sizes;
  for (const ParameterInfo& parameter : parameters_) {
    sizes.insert(parameter.elements);
  }
  ShardSignature signature;
  for (const std::int64_t size : sizes) {
    signature.push_back(rows_of(size, ranks, place));
  }
  return signature;
}

/// Millionths of all choices that each of the rank's experts gets; nothing if all ranks' do alike.
ShardSignature Shards::expert_loads(int place) const {
  const int ranks = plan_.parallel.ep;
  const std::int64_t experts = shape_of(plan_.model).experts;
  const MoeLoad load = load_of_group(plan_.moe_load, experts, place / ranks);
  const bool are_alike = ranks == 1 && load == plan_.moe_load;
  const auto shares = are_alike ? std::vector<double>{} : expert_shares(load, experts, ranks);
  const auto local = static_cast<std::size_t>(experts / ranks);
  const std::size_t first = local * static_cast<std::size_t>(place % ranks);
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  ShardSignature loads;
  for (std::size_t i = first; i < std::min(first + local, shares.size()); ++i) {
    loads.push_back(all > 0 ? std::llround(shares[i] / all * 1e6) : 0);
  }
  return loads;
}

const std::vector<ShardSignature>& Shards::optimizer_parts(int stage) const {
  const auto [found, is_new] = optimizer_parts_.try_emplace(stage);
  if (is_new) {
    found->second =
        spreads_states(plan_.parallel.ddp) ? redundancy_parts(plan_) : megatron_parts(plan_, stage);
  }
  return found->second;
}

}  // namespace highwater
