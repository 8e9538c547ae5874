// The simulations of a search for strategies as pieces of a fleet: a part of a variation's job, or
// one rank of the whole.
//
// A piece's number says which variation of which candidate, how much of it and which rank, so it
// means the same in every process, in a journal and in the parts of shards, whatever the order in
// which the search asks. A shard carries out the search among every n-th candidate: all that the
// whole search asks of these is among it, or `merge` carries it out.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/fleet/fleet.hpp"
#include "tools/studies/plan_search/candidates.hpp"
#include "tools/studies/plan_search/memory_trial.hpp"
#include "tools/studies/plan_search/search_request.hpp"

namespace highwater {

struct TrainingPlan;

/// A candidate and a variation of it, by number.
struct VariationPlace {
  std::size_t candidate = 0;
  std::size_t variation = 0;

  auto operator<=>(const VariationPlace&) const = default;
};

/// Whether a variation fits, or why PyTorch's own code would fail.
struct VariationTrial {
  std::optional<MemoryTrial> trial;
  std::string failure;
};

/// How much of a device the allocator gets in a job of the plan's size.
Bytes allocator_share(const TrainingPlan& plan, const SearchRequest& request);

/// What of that a row may take.
Bytes row_limit(const TrainingPlan& plan, const SearchRequest& request);

class TrialPieces {
 public:
  /// All must outlive it.
  TrialPieces(const SearchRequest& request, const std::vector<Candidate>& candidates, Fleet& fleet);

  /// Whether this process is asked for the candidate.
  [[nodiscard]] bool is_asked_for(std::size_t candidate) const;

  /// As many as it pays to ask for at once.
  [[nodiscard]] std::size_t width() const { return fleet_->width(); }

  [[nodiscard]] std::vector<VariationTrial> parts_of(const std::vector<VariationPlace>& places);

  /// All ranks and micro-batches of `place`, and parts of others for whoever is done before the
  /// last rank.
  struct WholeAndParts {
    VariationTrial whole;
    std::vector<VariationTrial> parts;
  };

  [[nodiscard]] WholeAndParts whole_of(const VariationPlace& place,
                                       const std::vector<VariationPlace>& parts);

  /// All ranks and micro-batches without a limit. None of them fits.
  [[nodiscard]] std::vector<VariationTrial> needs_of(const std::vector<VariationPlace>& places);

 private:
  enum class Extent : std::uint8_t { part, whole, unlimited };

  /// What the ranks of a variation tell each other.
  struct Siblings {
    ShownShapes shown;
    std::atomic<bool> is_too_large = false;  ///< a rank of the whole: the others need not run
  };

  [[nodiscard]] PieceNumber number_of(const VariationPlace& place, Extent extent, int rank) const;
  [[nodiscard]] VariationPlace place_of(PieceNumber number) const;
  [[nodiscard]] TrainingPlan plan_of(const VariationPlace& place) const;
  void add_parts(const std::vector<VariationPlace>& places, std::vector<PieceNumber>& to) const;
  void add_ranks(const VariationPlace& place, Extent extent, std::vector<PieceNumber>& to) const;
  [[nodiscard]] VariationTrial carried_out(PieceNumber number, Siblings& siblings) const;
  [[nodiscard]] MemoryTrial simulated(TrainingPlan plan, int rank, Extent extent,
                                      ShownShapes& shown) const;
  [[nodiscard]] std::vector<VariationTrial> need(const std::vector<PieceNumber>& numbers);

  const SearchRequest* request_;
  const std::vector<Candidate>* candidates_;
  Fleet* fleet_;
  std::vector<PieceNumber> first_;  ///< of each candidate's variations
  std::uint32_t job_;
};

}  // namespace highwater
