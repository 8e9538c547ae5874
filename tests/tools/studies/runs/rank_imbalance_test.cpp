// Between which ranks a job is uneven, and the cause that is named for it.
#include "tools/studies/runs/rank_imbalance.hpp"

#include <boost/json/object.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

constexpr std::uint64_t kMiB = 1 << 20U;

/// A rank of a stage and a shard that needs so much, of it activations.
RankPeak peak(int rank, int stage, std::uint64_t mebibytes, std::uint64_t activations,
              const RankTraits& traits) {
  RankPeak peak;
  peak.ranks = {.rank = rank, .ranks = 1, .place = {.pp = stage}, .traits = traits};
  peak.at_peak.requested[static_cast<std::size_t>(Category::activation)] =
      Bytes{activations * kMiB};
  peak.at_peak.requested[static_cast<std::size_t>(Category::parameter)] = Bytes{100 * kMiB};
  peak.reserved_without_limit = Bytes{mebibytes * kMiB};
  return peak;
}

}  // namespace

TEST_CASE("imbalance: between stages and between the ranks of the neediest", "[ranks]") {
  const RankTraits first{.layers = 8, .in_flight = 2, .has_embedding = true, .shard = 70};
  const RankTraits last{.layers = 7, .in_flight = 1, .has_head = true, .shard = 70};
  RankTraits smaller = first;
  smaller.shard = 63;
  RankPeaks survey;
  survey.dp_kind = DataParallel::fsdp2;
  survey.peaks = {peak(0, 0, 900, 500, first), peak(1, 0, 860, 470, smaller),
                  peak(2, 1, 600, 250, last), peak(3, 1, 640, 260, last)};
  const std::vector<RankGap> found = rank_imbalance(survey);
  REQUIRE(found.size() == 2);
  CHECK(found[0].between == "pipeline stages");
  CHECK(found[0].most.ranks.rank == 0);
  CHECK(found[0].least.ranks.rank == 3);  // the neediest of its stage
  CHECK(found[0].bytes() == Bytes{260 * kMiB});
  REQUIRE(found[0].categories.size() == 1);
  CHECK(found[0].categories[0].second == static_cast<std::int64_t>(240 * kMiB));
  CHECK(found[0].cause ==
        "8 layers beside 7, 2 forwards in flight beside 1, the embedding on the first, the head on "
        "the second");
  CHECK(found[1].between == "ranks of stage 0");
  CHECK(found[1].bytes() == Bytes{40 * kMiB});
  CHECK(found[1].cause == "70 rows of its parameters beside 63");
}

TEST_CASE("imbalance: none between ranks that need the same", "[ranks]") {
  RankPeaks survey;
  survey.peaks = {peak(0, 0, 900, 500, {}), peak(1, 0, 900, 400, {})};
  CHECK(rank_imbalance(survey).empty());
}

// 1F1B of two stages has two forwards of the first in flight, one of the last.
TEST_CASE("imbalance: simulate names the cause", "[ranks]") {
  const std::string pipeline =
      "simulate --framework megatron --transformer-impl local --model gpt2 --seq 128 --pp 2 "
      "--grad-accum 4 --rank all";
  CHECK_THAT(run_line(pipeline).out, Contains("2 forwards in flight beside 1"));
  // What the busier of two ranks has more than the mean, the other one lacks.
  const std::string experts =
      "simulate --torch 2.6 --framework megatron --model mixtral-small --dp 2 --ep 2 --seq 128 "
      "--precision bf16 --moe-load busiest:1.5 --rank all";
  const auto imbalance = json_of(experts).at("imbalance").as_array();
  REQUIRE(imbalance.size() == 1);
  CHECK_THAT(std::string(imbalance.at(0).at("cause").as_string()),
             Contains("experts with 1.50 times the mean load beside 0.50"));
}
