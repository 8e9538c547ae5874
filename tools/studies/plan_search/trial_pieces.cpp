#include "tools/studies/plan_search/trial_pieces.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

#include <fmt/format.h>

#include "tools/studies/plan_search/overlap_buffers.hpp"
#include "traces/error.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {
namespace {

/// More than a job may have.
constexpr PieceNumber kRanks = PieceNumber{1} << 24U;

/// The first failure in the order of the ranks, or what they come to together.
VariationTrial together(std::span<const VariationTrial> ranks) {
  std::vector<MemoryTrial> trials;
  for (const VariationTrial& each : ranks) {
    if (!each.trial) {
      return each;
    }
    trials.push_back(*each.trial);
  }
  return {all_ranks(trials), ""};
}

}  // namespace

Bytes allocator_share(const TrainingPlan& plan, const SearchRequest& request) {
  const Bytes outside =
      outside_memory(plan).total() + overlap_buffers(plan, request.options.assumed);
  return request.device - std::min(request.device, outside);
}

Bytes row_limit(const TrainingPlan& plan, const SearchRequest& request) {
  return without_margin(allocator_share(plan, request), request.options.margin);
}

TrialPieces::TrialPieces(const SearchRequest& request, const std::vector<Candidate>& candidates,
                         Fleet& fleet)
    : request_(&request), candidates_(&candidates), fleet_(&fleet), first_job_(fleet.new_job()) {
  PieceNumber next = 0;
  for (const Candidate& each : candidates) {
    first_.push_back(next);
    next += each.variations.size();
  }
  fleet.new_job();
  fleet.new_job();
}

bool TrialPieces::is_asked_for(std::size_t candidate) const {
  const std::optional<Shard>& shard = fleet_->shard();
  return !shard || candidate % shard->count == shard->index - 1;
}

std::vector<VariationTrial> TrialPieces::parts_of(const std::vector<VariationPlace>& places) {
  std::vector<PieceNumber> numbers;
  std::ranges::transform(places, std::back_inserter(numbers),
                         [this](const VariationPlace& place) { return number_of(place, 0); });
  return need(numbers, Extent::part);
}

VariationTrial TrialPieces::whole_of(const VariationPlace& place) {
  return wholes_of({place}, Extent::whole).front();
}

std::vector<VariationTrial> TrialPieces::needs_of(const std::vector<VariationPlace>& places) {
  std::vector<VariationTrial> needs = wholes_of(places, Extent::unlimited);
  for (VariationTrial& each : needs) {
    if (each.trial) {
      each.trial->fits = false;
    }
  }
  return needs;
}

/// The ranks of all places at once.
std::vector<VariationTrial> TrialPieces::wholes_of(const std::vector<VariationPlace>& places,
                                                   Extent extent) {
  std::vector<PieceNumber> numbers;
  std::vector<std::size_t> ends;
  for (const VariationPlace& place : places) {
    for (const int rank : ranks_of_whole(plan_of(place))) {
      numbers.push_back(number_of(place, rank));
    }
    ends.push_back(numbers.size());
  }
  const std::vector<VariationTrial> ranks = need(numbers, extent);
  std::vector<VariationTrial> wholes;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    wholes.push_back(together(std::span(ranks).subspan(begin, end - begin)));
    begin = end;
  }
  return wholes;
}

PieceNumber TrialPieces::number_of(const VariationPlace& place, int rank) const {
  return (first_[place.candidate] + place.variation) * kRanks + static_cast<PieceNumber>(rank);
}

VariationPlace TrialPieces::place_of(PieceNumber number) const {
  const PieceNumber variation = number / kRanks;
  const auto after = std::ranges::upper_bound(first_, variation);
  const auto candidate = static_cast<std::size_t>(after - first_.begin()) - 1;
  return {candidate, variation - first_[candidate]};
}

TrainingPlan TrialPieces::plan_of(const VariationPlace& place) const {
  const Candidate& candidate = (*candidates_)[place.candidate];
  return varied(candidate, candidate.variations[place.variation]);
}

std::vector<VariationTrial> TrialPieces::need(const std::vector<PieceNumber>& numbers,
                                              Extent extent) {
  const std::uint32_t job = first_job_ + static_cast<std::uint32_t>(extent);
  std::map<PieceNumber, ShownShapes> shown;  // by variation
  for (const PieceNumber number : numbers) {
    shown.try_emplace(number / kRanks);
  }
  return fleet_->need(kUncounted, job, numbers, [&](PieceNumber number) {
    return carried_out(number, extent, shown.at(number / kRanks));
  });
}

VariationTrial TrialPieces::carried_out(PieceNumber number, Extent extent,
                                        ShownShapes& shown) const {
  const VariationPlace place = place_of(number);
  try {
    return {simulated(plan_of(place), static_cast<int>(number % kRanks), extent, shown), ""};
  } catch (const InputError& error) {
    const std::string_view name = (*candidates_)[place.candidate].strategy->name;
    return {std::nullopt, fmt::format("{}: {}", name, error.what())};
  }
}

MemoryTrial TrialPieces::simulated(const TrainingPlan& plan, int rank, Extent extent,
                                   ShownShapes& shown) const {
  MemoryRequest memory = request_->memory;
  memory.capacity.reset();
  if (extent == Extent::unlimited) {
    return try_rank(plan, rank, memory, Bytes{UINT64_MAX}, shown);
  }
  memory.capacity = allocator_share(plan, *request_);
  const Bytes limit = row_limit(plan, *request_);
  return extent == Extent::part ? try_part(plan, memory, limit)
                                : try_rank(plan, rank, memory, limit, shown);
}

}  // namespace highwater
