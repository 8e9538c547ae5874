#include "workloads/training/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "workloads/plan/model/families/llama.hpp"
#include "workloads/plan/pipeline/megatron_schedule.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/pipeline/stage_layers.hpp"
#include "workloads/plan/pipeline/torch_schedule.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/training/parameters.hpp"

namespace highwater {
namespace {

/// Equivalent coordinates along one axis.
struct AxisClass {
  int first = 0;
  std::int64_t count = 0;
  std::string what;
  std::int64_t share = 0;
};

/// What a pipeline stage holds and does.
struct StageSignature {
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> kinds;  ///< of blocks that are not alike
  bool is_first = false;
  bool is_last = false;
  std::vector<dist::PipelineAction> actions;

  bool operator==(const StageSignature&) const = default;
};

// Megatron-Core and PyTorch split and schedule in ways of their own.
std::vector<std::int64_t> layers_of(const TrainingPlan& plan, int stage) {
  const Parallelism& p = plan.parallel;
  const std::int64_t layers = shape_of(plan.model).layers;
  std::vector<std::int64_t> counts;
  if (plan.model_code == ModelCode::megatron) {
    for (const auto& range : dist::stage_layers(layers, p.pp, stage, model_chunks(p))) {
      counts.push_back(range.count);
    }
  } else {
    for (const auto& part : pipelining::parts_of_stage(layers, p.pp, stage, model_chunks(p))) {
      counts.push_back(part.layers);
    }
  }
  return counts;
}

/// What blocks hold and see that are not alike, such as a mixture's dense ones, layers with
/// windows, an encoder's beside a decoder's.
std::vector<std::int64_t> kinds_of_blocks(TrainingPlan plan, int stage) {
  std::vector<std::int64_t> kinds;
  if (plan.model.config.is<LlamaConfig>()) {
    const auto& config = plan.model.config.as<LlamaConfig>();
    const auto part =
        pipelining::parts_of_stage(config.num_hidden_layers, plan.parallel.pp, stage, 1).front();
    for (std::int64_t i = 0; i < part.layers; ++i) {
      kinds.push_back(window_of(config, part.first_layer + i).value_or(0));
    }
  }
  plan.parallel.rank = stage;
  kinds.push_back(trainable_elements(plan));
  return kinds;
}

StageSignature stage_signature(const TrainingPlan& plan, int stage) {
  const Parallelism& p = plan.parallel;
  const dist::PipelineJob job = dist::pipeline_job(plan, stage);
  const bool is_spread = plan.model_code != ModelCode::megatron && pipelining::is_naive(p);
  return {.layers = layers_of(plan, stage),
          .kinds = is_spread ? kinds_of_blocks(plan, stage) : std::vector<std::int64_t>{},
          .is_first = stage == 0,
          .is_last = stage == p.pp - 1,
          .actions = plan.model_code == ModelCode::megatron
                         ? dist::megatron_schedule(p.schedule, job)
                         : pipelining::torch_schedule(p.schedule, job)};
}

std::string stage_words(const Parallelism& p, int stage) {
  return fmt::format("stage {} of {}{}", stage, p.pp,
                     stage == 0          ? ", with the embedding"
                     : stage == p.pp - 1 ? ", with the head"
                                         : "");
}

std::vector<AxisClass> stage_classes(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  if (p.pp == 1) {
    return {{.count = 1}};
  }
  std::vector<AxisClass> classes;
  std::vector<StageSignature> signatures;
  for (int stage = 0; stage < p.pp; ++stage) {
    StageSignature signature = stage_signature(plan, stage);
    const auto found = std::ranges::find(signatures, signature);
    if (found != signatures.end()) {
      ++classes[static_cast<std::size_t>(found - signatures.begin())].count;
    } else {
      signatures.push_back(std::move(signature));
      classes.push_back({.first = stage, .count = 1, .what = stage_words(p, stage)});
    }
  }
  return classes;
}

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

/// Numbers that distinguish the shards of one axis.
using ShardSignature = std::vector<std::int64_t>;

class Shards {
 public:
  explicit Shards(const TrainingPlan& plan) : plan_(plan) {
    const Parallelism& p = plan.parallel;
    if (p.dp * p.cp > 1 && p.dp_kind != DataParallel::ddp) {
      parameters_ = model_parameters(plan.model);
      for (const ParameterInfo& parameter : parameters_) {
        first_sizes_.insert(parameter.sizes.empty() ? 1 : parameter.sizes.front());
      }
    }
  }

  /// The signature of position `rank` among dp * cp.
  [[nodiscard]] ShardSignature of(int rank) const {
    ShardSignature signature = states(rank);
    const Parallelism& p = plan_.parallel;
    const bool attends_in_a_ring = p.cp_kind == ContextParallel::ring;
    signature.push_back(attends_in_a_ring ? rank % p.cp : 0);
    std::ranges::copy(expert_loads(rank), std::back_inserter(signature));
    return signature;
  }

 private:
  /// Millionths of all choices that each of the rank's experts gets; nothing if all ranks' do
  /// alike.
  [[nodiscard]] ShardSignature expert_loads(int rank) const {
    const int ranks = plan_.parallel.ep;
    const std::int64_t experts = shape_of(plan_.model).experts;
    const auto shares =
        ranks > 1 ? expert_shares(plan_.moe_load, experts, ranks) : std::vector<double>{};
    const auto local = static_cast<std::size_t>(experts / ranks);
    const std::size_t first = local * static_cast<std::size_t>(rank % ranks);
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    ShardSignature loads;
    for (std::size_t i = first; i < std::min(first + local, shares.size()); ++i) {
      loads.push_back(all > 0 ? std::llround(shares[i] / all * 1e6) : 0);
    }
    return loads;
  }

  [[nodiscard]] ShardSignature states(int rank) const {
    const Parallelism& p = plan_.parallel;
    switch (p.dp_kind) {
      case DataParallel::fsdp2:
        return rows(p.dp * p.cp / p.fsdp.replicas, rank % (p.dp * p.cp / p.fsdp.replicas));
      case DataParallel::zero1:
      case DataParallel::zero2:
        return {touched_by_partition(parameters_, p.dp * p.cp, rank)};
      case DataParallel::zero3:
        return {rank == p.dp * p.cp - 1 ? 1
                                        : 0};  // partitions are padded, the last one at its tail
      case DataParallel::ddp:
      case DataParallel::zero0:
      case DataParallel::fsdp1:
        return {};
    }
    return {};
  }

  [[nodiscard]] ShardSignature rows(int ranks, int rank) const {
    ShardSignature signature;
    for (const std::int64_t size : first_sizes_) {
      signature.push_back(rows_of(size, ranks, rank));
    }
    return signature;
  }

  const TrainingPlan& plan_;
  std::vector<ParameterInfo> parameters_;
  std::set<std::int64_t> first_sizes_;  ///< distinct sizes of the dimension that is sharded
};

std::string shard_words(const TrainingPlan& plan, int rank) {
  const Parallelism& p = plan.parallel;
  std::vector<std::string> words;
  if (p.dp_kind != DataParallel::ddp) {
    words.push_back(fmt::format("shard {} of {}", rank, p.dp * p.cp));
  }
  if (p.cp > 1 && p.cp_kind == ContextParallel::ring) {
    words.push_back(fmt::format("part {} of {} of each sequence", rank % p.cp, p.cp));
  }
  if (p.ep > 1 && plan.moe_load.busiest) {
    words.emplace_back(rank % p.ep == 0 ? "with the busiest experts" : "with other experts");
  }
  if (p.ep > 1 && (plan.moe_load.zipf || !plan.moe_load.shares.empty())) {
    words.push_back(fmt::format("with part {} of {} of the experts", rank % p.ep, p.ep));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<AxisClass> shard_classes(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  const Shards shards(plan);
  std::vector<AxisClass> classes;
  std::vector<ShardSignature> signatures;
  for (int rank = 0; rank < p.dp * p.cp; ++rank) {
    ShardSignature signature = shards.of(rank);
    const auto found = std::ranges::find(signatures, signature);
    if (found != signatures.end()) {
      ++classes[static_cast<std::size_t>(found - signatures.begin())].count;
    } else {
      classes.push_back(
          {.first = rank,
           .count = 1,
           .what = shard_words(plan, rank),
           .share = std::accumulate(signature.begin(), signature.end(), std::int64_t{0})});
      signatures.push_back(std::move(signature));
    }
  }
  if (classes.size() == 1) {
    classes.front().what.clear();
  }
  return classes;
}

// Colossal-AI's 2.5D: the first rank of each column keeps the sums of a layer's vectors, the others
// make zeros (_Add_Bias_2p5D.backward). Otherwise all tensor-parallel ranks are alike.
std::vector<AxisClass> tensor_classes(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  if (!splits_over_grid(p) || p.tp_kind != TensorParallel::colossalai_2p5d) {
    return {{.count = p.tp}};
  }
  const int side = grid_side(p);
  const int first_row = p.tp / side;
  return {{.first = 0, .count = first_row, .what = "first row of its grid"},
          {.first = side, .count = p.tp - first_row, .what = "another row of its grid"}};
}

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + ", " + b;
}

}  // namespace

std::vector<RankClass> rank_classes(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  const std::vector<AxisClass> shards = shard_classes(plan);
  std::vector<RankClass> classes;
  for (const AxisClass& stage : stage_classes(plan)) {
    for (const AxisClass& shard : shards) {
      for (const AxisClass& part : tensor_classes(plan)) {
        classes.push_back({.rank = (stage.first * p.dp * p.cp + shard.first) * p.tp + part.first,
                           .ranks = stage.count * shard.count * part.count,
                           .place = {.dp = shard.first / p.cp,
                                     .tp = part.first,
                                     .pp = stage.first,
                                     .cp = shard.first % p.cp},
                           .share = shard.share,
                           .what = joined(joined(stage.what, shard.what), part.what)});
      }
    }
  }
  std::ranges::sort(classes, {}, &RankClass::rank);
  return classes;
}

std::vector<RankClass> representative_ranks(const std::vector<RankClass>& classes) {
  std::vector<RankClass> chosen;
  for (auto begin = classes.begin(); begin != classes.end();) {
    const auto end = std::find_if(begin, classes.end(), [&](const RankClass& other) {
      return other.place.pp != begin->place.pp;
    });
    const auto largest = std::ranges::max_element(begin, end, {}, &RankClass::share);
    std::set<int> kept{begin->rank, std::prev(end)->rank, largest->rank};
    std::copy_if(begin, end, std::back_inserter(chosen),
                 [&](const RankClass& each) { return kept.contains(each.rank); });
    begin = end;
  }
  return chosen;
}

}  // namespace highwater
