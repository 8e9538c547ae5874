#include "workloads/training/ranks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "workloads/plan/model/families/llama.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/pipeline/megatron_schedule.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/pipeline/stage_layers.hpp"
#include "workloads/plan/pipeline/torch_schedule.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/parameters.hpp"
#include "workloads/training/shards.hpp"

namespace highwater {
namespace {

/// Equivalent coordinates along one axis.
struct AxisClass {
  int first = 0;
  std::int64_t count = 0;
  std::string what;
  std::int64_t share = 0;
  RankTraits traits = {};
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

/// How many layers of each of a stage's chunks have no mixture, where others do.
std::vector<std::int64_t> dense_layers_of(const TrainingPlan& plan, int stage) {
  const auto config = megatron::config_of(plan.model.config);
  std::vector<std::int64_t> counts;
  if (!config || config->dense_layers == 0) {
    return counts;
  }
  const Parallelism& p = plan.parallel;
  for (const auto& range : dist::stage_layers(config->layers, p.pp, stage, model_chunks(p))) {
    counts.push_back(std::clamp<std::int64_t>(config->dense_layers - range.first, 0, range.count));
  }
  return counts;
}

/// What of a stage's layers is not alike.
std::vector<std::int64_t> kinds_of_layers(const TrainingPlan& plan, int stage) {
  if (plan.model_code == ModelCode::megatron) {
    return dense_layers_of(plan, stage);
  }
  return pipelining::is_naive(plan.parallel) ? kinds_of_blocks(plan, stage)
                                             : std::vector<std::int64_t>{};
}

StageSignature stage_signature(const TrainingPlan& plan, int stage) {
  const Parallelism& p = plan.parallel;
  const dist::PipelineJob job = dist::pipeline_job(plan, stage);
  return {.layers = layers_of(plan, stage),
          .kinds = kinds_of_layers(plan, stage),
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

RankTraits stage_traits(const StageSignature& stage) {
  return {.layers = std::accumulate(stage.layers.begin(), stage.layers.end(), std::int64_t{0}),
          .in_flight = dist::most_in_flight(stage.actions),
          .has_embedding = stage.is_first,
          .has_head = stage.is_last};
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
      classes.push_back({.first = stage,
                         .count = 1,
                         .what = stage_words(p, stage),
                         .traits = stage_traits(signatures.back())});
    }
  }
  return classes;
}

std::string shard_words(const TrainingPlan& plan, int rank) {
  const Parallelism& p = plan.parallel;
  std::vector<std::string> words;
  if (p.dp_kind != DataParallel::ddp || spreads_states(p.ddp)) {
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
  if (!plan.moe_load.shares.empty() && p.dp * p.cp > p.ep) {
    words.push_back(fmt::format("group {} of {} of them", rank / p.ep, p.dp * p.cp / p.ep));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Places of `stage` among those that share data, by signature.
std::vector<AxisClass> shard_classes(const TrainingPlan& plan, const Shards& shards, int stage) {
  const Parallelism& p = plan.parallel;
  std::vector<AxisClass> classes;
  std::map<ShardSignature, std::size_t> known;
  for (int place = 0; place < p.dp * p.cp; ++place) {
    const auto [found, is_new] = known.try_emplace(shards.of(stage, place), classes.size());
    if (is_new) {
      classes.push_back(
          {.first = place,
           .what = shard_words(plan, place),
           .share = shards.share(place),
           .traits = {.expert_load = shards.expert_load(place), .shard = shards.held(place)}});
    }
    ++classes[found->second].count;
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

/// Of a stage, and of a shard.
RankTraits joined(RankTraits stage, const RankTraits& shard) {
  stage.expert_load = shard.expert_load;
  stage.shard = shard.shard;
  return stage;
}

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + ", " + b;
}

}  // namespace

namespace {

std::vector<RankClass> classes_of(const TrainingPlan& plan, const Shards& shards) {
  const Parallelism& p = plan.parallel;
  std::vector<RankClass> classes;
  for (const AxisClass& stage : stage_classes(plan)) {
    for (const AxisClass& shard : shard_classes(plan, shards, stage.first)) {
      for (const AxisClass& part : tensor_classes(plan)) {
        classes.push_back({.rank = (stage.first * p.dp * p.cp + shard.first) * p.tp + part.first,
                           .ranks = stage.count * shard.count * part.count,
                           .place = {.dp = shard.first / p.cp,
                                     .tp = part.first,
                                     .pp = stage.first,
                                     .cp = shard.first % p.cp},
                           .share = shard.share,
                           .what = joined(joined(stage.what, shard.what), part.what),
                           .traits = joined(stage.traits, shard.traits)});
      }
    }
  }
  std::ranges::sort(classes, {}, &RankClass::rank);
  return classes;
}

}  // namespace

std::vector<RankClass> rank_classes(const TrainingPlan& plan) {
  return classes_of(plan, Shards(plan, ShardDetail::requests));
}

std::vector<RankClass> coarse_rank_classes(const TrainingPlan& plan) {
  return classes_of(plan, Shards(plan, ShardDetail::memory));
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
