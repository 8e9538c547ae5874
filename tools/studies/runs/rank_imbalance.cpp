#include "tools/studies/runs/rank_imbalance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {
namespace {

constexpr std::size_t kMostCategories = 3;

/// Ranks in order.
using Peaks = std::vector<const RankPeak*>;

Bytes need_of(const RankPeak* peak) {
  return peak->reserved_without_limit;
}

/// The first of those that need most.
const RankPeak& neediest(const Peaks& peaks) {
  return **std::ranges::max_element(peaks, {}, need_of);
}

/// By stage, in order.
std::vector<Peaks> stages_of(const RankPeaks& survey) {
  std::vector<Peaks> stages;
  for (const RankPeak& each : survey.peaks) {
    if (stages.empty() || stages.back().front()->ranks.place.pp != each.ranks.place.pp) {
      stages.emplace_back();
    }
    stages.back().push_back(&each);
  }
  return stages;
}

std::vector<std::pair<Category, std::int64_t>> categories_between(const CategoryBytes& most,
                                                                  const CategoryBytes& least) {
  std::vector<std::pair<Category, std::int64_t>> changes;
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    const auto change = static_cast<std::int64_t>(most.of(category).count()) -
                        static_cast<std::int64_t>(least.of(category).count());
    if (change != 0) {
      changes.emplace_back(category, change);
    }
  }
  std::ranges::stable_sort(changes, std::greater{},
                           [](const auto& change) { return std::abs(change.second); });
  changes.resize(std::min(changes.size(), kMostCategories));
  return changes;
}

std::string beside(std::int64_t most, std::int64_t least, std::string_view what) {
  return fmt::format("{} {} beside {}", most, what, least);
}

void add_end(bool most, bool least, std::string_view what, std::vector<std::string>& causes) {
  if (most != least) {
    causes.push_back(fmt::format("{} {}", what, most ? "on the first" : "on the second"));
  }
}

std::string_view what_shards_hold(DataParallel kind) {
  switch (kind) {
    case DataParallel::fsdp2:
      return "rows of its parameters";
    case DataParallel::zero1:
    case DataParallel::zero2:
      return "elements of tensors that its part touches";
    case DataParallel::ddp:
      return "elements that it steps";
    default:
      return "";
  }
}

void add_shard(const RankTraits& most, const RankTraits& least, DataParallel kind,
               std::vector<std::string>& causes) {
  if (std::abs(most.expert_load - least.expert_load) >= 0.005) {
    causes.push_back(fmt::format("experts with {:.2f} times the mean load beside {:.2f}",
                                 most.expert_load, least.expert_load));
  }
  const std::string_view what = what_shards_hold(kind);
  if (most.shard != least.shard && !what.empty()) {
    causes.push_back(beside(most.shard, least.shard, what));
  }
}

/// In words, what is known to differ.
std::string cause_of(const RankPeak& first, const RankPeak& second, DataParallel kind) {
  const RankTraits& most = first.ranks.traits;
  const RankTraits& least = second.ranks.traits;
  std::vector<std::string> causes;
  if (most.layers != least.layers) {
    causes.push_back(beside(most.layers, least.layers, "layers"));
  }
  if (most.in_flight != least.in_flight) {
    causes.push_back(beside(most.in_flight, least.in_flight, "forwards in flight"));
  }
  add_end(most.has_embedding, least.has_embedding, "the embedding", causes);
  add_end(most.has_head, least.has_head, "the head", causes);
  add_shard(most, least, kind, causes);
  if (causes.empty() && first.ranks.place.cp != second.ranks.place.cp) {
    causes.emplace_back("other parts of each sequence");
  }
  return causes.empty() ? "other parts of the same tensors"
                        : fmt::format("{}", fmt::join(causes, ", "));
}

/// Nothing where they need the same.
void add_difference(std::string between, const Peaks& peaks, DataParallel kind,
                    std::vector<RankGap>& differences) {
  const RankPeak& most = neediest(peaks);
  const RankPeak& least = **std::ranges::min_element(peaks, {}, need_of);
  if (need_of(&most) > need_of(&least)) {
    differences.push_back({std::move(between), most, least,
                           categories_between(most.at_peak, least.at_peak),
                           cause_of(most, least, kind)});
  }
}

}  // namespace

std::vector<RankGap> rank_imbalance(const RankPeaks& survey) {
  std::vector<RankGap> differences;
  Peaks of_stages;
  const std::vector<Peaks> stages = stages_of(survey);
  std::ranges::transform(stages, std::back_inserter(of_stages),
                         [](const Peaks& stage) { return &neediest(stage); });
  add_difference("pipeline stages", of_stages, survey.dp_kind, differences);
  const auto worst = std::ranges::max_element(
      stages, {}, [](const Peaks& stage) { return need_of(&neediest(stage)); });
  const int stage = worst->front()->ranks.place.pp;
  add_difference(stages.size() == 1 ? "ranks" : fmt::format("ranks of stage {}", stage), *worst,
                 survey.dp_kind, differences);
  return differences;
}

}  // namespace highwater
