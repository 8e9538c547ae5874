// Lengths of batches that are padded to their longest text.
#include "workloads/plan/options/varied_lengths.hpp"

#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>

#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

std::int64_t sum(const std::vector<std::int64_t>& shares) {
  return std::reduce(shares.begin(), shares.end());
}

}  // namespace

TEST_CASE("varied lengths: the longest of many texts is nearer to the limit", "[plan]") {
  const std::vector<std::int64_t> of_one = varied_shares(1);
  CHECK(of_one.size() == 16);
  CHECK(sum(of_one) < sum(varied_shares(8)));
  CHECK(sum(varied_shares(8)) < sum(varied_shares(64)));
  // 0.95^64: in 4 of 100 batches none reaches it.
  CHECK(std::ranges::count(varied_shares(64), 1000) == 15);
  // The median: exp(-0.6 * 1.645).
  CHECK(std::ranges::count_if(of_one, [](std::int64_t share) { return share < 373; }) == 8);
}

TEST_CASE("varied lengths: none is beyond the longest, and none empty", "[plan]") {
  CHECK(varied_lengths(512, {500, 1000, 1}) == std::vector<std::int64_t>{256, 512, 1});
  CHECK(varied_lengths(1, {10, 1000}) == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("varied lengths: a plan has them where it says so, and steps for all", "[plan]") {
  std::vector<std::string> problems;
  const TrainingPlan plan = read_plan_words(
      {{"model", "gpt2"}, {"batch", "8"}, {"seq", "128"}, {"varied-inputs", "true"}}, problems);
  CHECK(problems.empty());
  CHECK(plan.seq == varied_lengths(128, varied_shares(8)));
  CHECK(plan.steps == 16);
  const TrainingPlan own = read_plan_words(
      {{"model", "gpt2"}, {"seq", "64,128"}, {"steps", "5"}, {"varied-inputs", "true"}}, problems);
  CHECK(own.seq == std::vector<std::int64_t>{64, 128});
  CHECK(own.steps == 5);
}
