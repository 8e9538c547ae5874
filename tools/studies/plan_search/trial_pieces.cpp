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

struct TrainingPlan;

namespace {

/// More than a job may have.
constexpr PieceNumber kRanks = PieceNumber{1} << 24U;

constexpr PieceNumber kExtents = 3;

bool is_too_large(const VariationTrial& rank) {
  return rank.trial && !rank.trial->fits;
}

/// What does not fit in one rank does not fit, whatever becomes of the others, which may be left
/// out. Else the first failure in the order of the ranks, or what they come to together.
VariationTrial together(std::span<const VariationTrial> ranks) {
  const auto failure = std::ranges::find_if(
      ranks, [](const VariationTrial& rank) { return !rank.trial.has_value(); });
  if (std::ranges::none_of(ranks, is_too_large) && failure != ranks.end()) {
    return *failure;
  }
  std::vector<MemoryTrial> trials;
  for (const VariationTrial& each : ranks) {
    if (each.trial) {
      trials.push_back(*each.trial);
    }
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
    : request_(&request), candidates_(&candidates), fleet_(&fleet), job_(fleet.new_job()) {
  PieceNumber next = 0;
  for (const Candidate& each : candidates) {
    first_.push_back(next);
    next += each.variations.size();
  }
}

bool TrialPieces::is_asked_for(std::size_t candidate) const {
  const std::optional<Shard>& shard = fleet_->shard();
  return !shard || candidate % shard->count == shard->index - 1;
}

std::vector<VariationTrial> TrialPieces::parts_of(const std::vector<VariationPlace>& places) {
  std::vector<PieceNumber> numbers;
  add_parts(places, numbers);
  return need(numbers);
}

TrialPieces::WholeAndParts TrialPieces::whole_of(const VariationPlace& place,
                                                 const std::vector<VariationPlace>& parts) {
  std::vector<PieceNumber> numbers;
  add_ranks(place, Extent::whole, numbers);
  const std::size_t ranks = numbers.size();
  add_parts(parts, numbers);
  const std::vector<VariationTrial> trials = need(numbers);
  const auto end_of_ranks = trials.begin() + static_cast<std::ptrdiff_t>(ranks);
  return {together({trials.begin(), end_of_ranks}), {end_of_ranks, trials.end()}};
}

/// The ranks of all places at once.
std::vector<VariationTrial> TrialPieces::needs_of(const std::vector<VariationPlace>& places) {
  std::vector<PieceNumber> numbers;
  std::vector<std::size_t> ends;
  for (const VariationPlace& place : places) {
    add_ranks(place, Extent::unlimited, numbers);
    ends.push_back(numbers.size());
  }
  const std::vector<VariationTrial> ranks = need(numbers);
  std::vector<VariationTrial> needs;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    VariationTrial& all =
        needs.emplace_back(together(std::span(ranks).subspan(begin, end - begin)));
    if (all.trial) {
      all.trial->fits = false;
    }
    begin = end;
  }
  return needs;
}

void TrialPieces::add_parts(const std::vector<VariationPlace>& places,
                            std::vector<PieceNumber>& to) const {
  std::ranges::transform(places, std::back_inserter(to), [this](const VariationPlace& place) {
    return number_of(place, Extent::part, 0);
  });
}

void TrialPieces::add_ranks(const VariationPlace& place, Extent extent,
                            std::vector<PieceNumber>& to) const {
  std::ranges::transform(ranks_of_whole(plan_of(place)), std::back_inserter(to),
                         [&](int rank) { return number_of(place, extent, rank); });
}

PieceNumber TrialPieces::number_of(const VariationPlace& place, Extent extent, int rank) const {
  const PieceNumber variation = first_[place.candidate] + place.variation;
  return (variation * kExtents + static_cast<PieceNumber>(extent)) * kRanks +
         static_cast<PieceNumber>(rank);
}

VariationPlace TrialPieces::place_of(PieceNumber number) const {
  const PieceNumber variation = number / kRanks / kExtents;
  const auto after = std::ranges::upper_bound(first_, variation);
  const auto candidate = static_cast<std::size_t>(after - first_.begin()) - 1;
  return {candidate, variation - first_[candidate]};
}

TrainingPlan TrialPieces::plan_of(const VariationPlace& place) const {
  const Candidate& candidate = (*candidates_)[place.candidate];
  return varied(candidate, candidate.variations[place.variation]);
}

std::vector<VariationTrial> TrialPieces::need(const std::vector<PieceNumber>& numbers) {
  std::map<PieceNumber, Siblings> siblings;  // by variation and extent
  for (const PieceNumber number : numbers) {
    siblings.try_emplace(number / kRanks);
  }
  return fleet_->need(kUncounted, job_, numbers, [&](PieceNumber number) {
    return carried_out(number, siblings.at(number / kRanks));
  });
}

VariationTrial TrialPieces::carried_out(PieceNumber number, Siblings& siblings) const {
  const VariationPlace place = place_of(number);
  const auto extent = static_cast<Extent>(number / kRanks % kExtents);
  if (siblings.is_too_large) {
    return {MemoryTrial{.fits = false}, ""};
  }
  try {
    const int rank = static_cast<int>(number % kRanks);
    VariationTrial trial{simulated(plan_of(place), rank, extent, siblings.shown), ""};
    if (extent == Extent::whole && is_too_large(trial)) {
      siblings.is_too_large = true;
    }
    return trial;
  } catch (const InputError& error) {
    const std::string_view name = (*candidates_)[place.candidate].strategy->name;
    return {std::nullopt, fmt::format("{}: {}", name, error.what())};
  }
}

MemoryTrial TrialPieces::simulated(TrainingPlan plan, int rank, Extent extent,
                                   ShownShapes& shown) const {
  plan.device_room = allocator_share(plan, *request_);
  MemoryRequest memory = request_->memory;
  memory.capacity.reset();
  if (extent == Extent::unlimited) {
    return try_rank(plan, rank, memory, Bytes{UINT64_MAX}, shown);
  }
  memory.capacity = plan.device_room;
  const Bytes limit = row_limit(plan, *request_);
  return extent == Extent::part ? try_part(plan, memory, limit)
                                : try_rank(plan, rank, memory, limit, shown);
}

}  // namespace highwater
