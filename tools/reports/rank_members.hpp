// The keys of the ranks of a job, and of what tells them apart.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/reports/replay_members.hpp"
#include "tools/studies/runs/rank_imbalance.hpp"
#include "tools/studies/runs/rank_peaks.hpp"

namespace highwater {

template <>
struct Members<RankPlace> {
  static constexpr auto kRows = std::to_array({
      member<&RankPlace::dp>("dp", "place among the data-parallel ranks, from 0"),
      member<&RankPlace::tp>("tp", "among the tensor-parallel ranks"),
      member<&RankPlace::pp>("pp", "the pipeline stage"),
      member<&RankPlace::cp>("cp", "among the context-parallel ranks"),
  });
};

/// A rank and those that make the same requests.
struct RankLine {
  RankPeak rank;
  bool is_limited = false;
  bool is_worst = false;
};

std::vector<RankLine> rank_lines(const RankPeaks& survey);

template <>
struct Members<RankLine> {
  static constexpr auto kRows = std::to_array({
      member<[](const RankLine& of) { return of.rank.ranks.rank; }>("rank", "the one simulated"),
      member<[](const RankLine& of) { return of.rank.ranks.ranks; }>(
          "ranks", "how many make the same requests, this one among them"),
      member<[](const RankLine& of) { return of.rank.ranks.place; }>("place",
                                                                     "where it is in the job"),
      member<[](const RankLine& of) { return of.rank.ranks.what; }>("what", "the same in words"),
      member<[](const RankLine& of) { return of.rank.peak; }>(
          "peak", "the highest values, each at its own moment"),
      member<[](const RankLine& of) {
        return of.is_limited ? std::optional(of.rank.fits) : std::nullopt;
      }>("fits", "whether it runs to its end; null: no memory was given to fit in"),
      member<&RankLine::is_worst>("is_worst", "whether it needs most of all"),
  });
};

/// How much more of one category one rank has than another.
struct CategoryGap {
  std::string_view category;
  std::int64_t more = 0;
};

std::vector<CategoryGap> category_gaps(const RankGap& gap);

template <>
struct Members<CategoryGap> {
  static constexpr auto kRows = std::to_array({
      member<&CategoryGap::category>("category", "of tensors"),
      member<&CategoryGap::more>("more_bytes", "at the peak of the rank that needs most"),
  });
};

template <>
struct Members<RankGap> {
  static constexpr auto kRows = std::to_array({
      member<&RankGap::between>("between", "what the ranks differ in"),
      member<[](const RankGap& of) { return of.most.ranks.rank; }>("most_rank",
                                                                   "the rank that needs most"),
      member<[](const RankGap& of) { return of.least.ranks.rank; }>("least_rank",
                                                                    "the rank that needs least"),
      member<&RankGap::bytes>("bytes", "how much more it reserves"),
      member<category_gaps>("categories", "the largest difference first"),
      member<&RankGap::cause>("cause", "why, in words"),
  });
};

}  // namespace highwater
