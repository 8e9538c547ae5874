// Batches as data loaders make them.
#include "sim/chance/length_sampler.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

std::vector<std::int64_t> batches(const LengthSource& source, const Batching& batching, int count) {
  LengthSampler sampler(source, batching, RandomNumbers(1, 0, Drawn::lengths));
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < count; ++i) {
    lengths.push_back(sampler.next_batch());
  }
  return lengths;
}

LengthSource numbered(std::int64_t count) {
  LengthSource source;
  for (std::int64_t i = 1; i <= count; ++i) {
    source.list.push_back(i);
  }
  return source;
}

}  // namespace

TEST_CASE("length sampler: a batch is as long as its longest sample, padded", "[chance]") {
  const LengthSource source{.distribution = std::nullopt, .list = {3, 9, 5, 1, 2, 2}};
  const Batching batching{.strategy = SamplingStrategy::sequential, .batch = 2};
  CHECK(batches(source, batching, 4) == std::vector<std::int64_t>{9, 5, 2, 9});
  Batching padded = batching;
  padded.pad_to_multiple_of = 8;
  CHECK(batches(source, padded, 3) == std::vector<std::int64_t>{16, 8, 8});
}

TEST_CASE("length sampler: random takes each sample once an epoch", "[chance]") {
  std::vector<std::int64_t> lengths =
      batches(numbered(50), {.strategy = SamplingStrategy::random}, 50);
  CHECK_FALSE(std::ranges::is_sorted(lengths));
  std::ranges::sort(lengths);
  CHECK(lengths == numbered(50).list);
}

TEST_CASE("length sampler: replacement takes any sample each time", "[chance]") {
  const auto lengths = batches(numbered(3), {.strategy = SamplingStrategy::replacement}, 3000);
  CHECK(std::ranges::count(lengths, 2) == Approx(1000).margin(90));
}

TEST_CASE("length sampler: group_by_length sorts groups of 50 batches, the longest batch first",
          "[chance]") {
  // get_length_grouped_indices of 400 samples in batches of 2: groups of 50 batches, 100 samples.
  const auto lengths =
      batches(numbered(400), {.strategy = SamplingStrategy::group_by_length, .batch = 2}, 200);
  CHECK(lengths.front() == 400);
  // Behind the sample that changed places each group goes down.
  int groups_begun = 0;
  for (std::size_t i = 2; i < lengths.size(); ++i) {
    groups_begun += lengths[i] > lengths[i - 1] ? 1 : 0;
  }
  CHECK(groups_begun == 3);
}

TEST_CASE("length sampler: few samples make groups of a quarter", "[chance]") {
  // 16 samples in batches of 2: 16 / (2 * 4) = 2 batches to a group.
  const auto lengths =
      batches(numbered(16), {.strategy = SamplingStrategy::group_by_length, .batch = 2}, 8);
  CHECK(lengths.front() == 16);
}
