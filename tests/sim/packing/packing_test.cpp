// Packings are checked block against block, and on small inputs against every order there is.
#include "sim/packing/packing.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include "sim/packing/order_of_ends.hpp"
#include "sim/packing/packing_greedy.hpp"
#include "sim/packing/packing_in_time.hpp"
#include "tests/support/dice.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

using Blocks = std::vector<PackingBlock>;

/// Knows nothing of how it was made: every two blocks alive at the same time lie apart. By a sweep
/// over time, so that long runs can be checked too.
bool is_valid(const Blocks& blocks, const Packing& packing) {
  struct Change {
    std::uint64_t time;
    bool comes;
    std::size_t block;
    auto operator<=>(const Change&) const = default;
  };

  if (packing.offsets.size() != blocks.size()) {
    return false;
  }
  std::vector<Change> changes;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    changes.push_back({blocks[i].begin, true, i});
    changes.push_back({blocks[i].end, false, i});
  }
  std::ranges::sort(changes);
  std::set<std::pair<Bytes, Bytes>> alive;  // bottoms and tops
  Bytes highest;
  for (const Change& change : changes) {
    const Bytes bottom = packing.offsets[change.block];
    const Bytes top = bottom + blocks[change.block].size;
    if (!change.comes) {
      alive.erase({bottom, top});
      continue;
    }
    const auto above = alive.lower_bound({bottom, Bytes{}});
    if (above != alive.end() && above->first < top) {
      return false;
    }
    if (above != alive.begin() && std::prev(above)->second > bottom) {
      return false;
    }
    alive.insert({bottom, top});
    highest = std::max(highest, top);
  }
  return highest == packing.height;
}

/// The lowest height there is: in the order of its bottoms, every packing can be had by placing
/// each block at the lowest free offset, so the best of all orders is the optimum.
Bytes optimum(const Blocks& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  Bytes best{~std::uint64_t{0}};
  do {
    std::vector<std::pair<Bytes, std::size_t>> placed;
    Bytes height;
    for (const std::size_t i : order) {
      std::ranges::sort(placed);
      Bytes at;
      for (const auto& [bottom, other] : placed) {
        if (blocks[other].overlaps(blocks[i]) && bottom < at + blocks[i].size) {
          at = std::max(at, bottom + blocks[other].size);
        }
      }
      placed.emplace_back(at, i);
      height = std::max(height, at + blocks[i].size);
    }
    best = std::min(best, height);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

Blocks random_blocks(test::Dice& dice, std::size_t count, std::uint64_t longest) {
  Blocks blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back({Bytes{1 + dice.below(12)}, i, i + 1 + dice.below(longest)});
  }
  return blocks;
}

/// The most bytes alive at once.
Bytes max_live(const Blocks& blocks) {
  std::map<std::uint64_t, std::int64_t> changes;
  for (const PackingBlock& block : blocks) {
    changes[block.begin] += static_cast<std::int64_t>(block.size.count());
    changes[block.end] -= static_cast<std::int64_t>(block.size.count());
  }
  std::int64_t live = 0;
  std::int64_t highest = 0;
  for (const auto& [time, change] : changes) {
    live += change;
    highest = std::max(highest, live);
  }
  return Bytes{static_cast<std::uint64_t>(highest)};
}

Packing packed(const Blocks& blocks) {
  return pack(blocks, order_of_ends(blocks));
}

Packing packed_in_time(const Blocks& blocks, TimeOrder order) {
  return pack_in_time(blocks, order_of_ends(blocks), order);
}

Packing packed_greedily(const Blocks& blocks, Bytes target, std::uint64_t steps) {
  return pack_greedily(blocks, order_of_ends(blocks), target, steps);
}

}  // namespace

TEST_CASE("packing: the checker sees an overlap and a wrong height", "[sim][packing]") {
  const Blocks blocks{{4_B, 0, 2}, {4_B, 1, 3}};
  CHECK(is_valid(blocks, {8_B, {0_B, 4_B}, ""}));
  CHECK_FALSE(is_valid(blocks, {7_B, {0_B, 3_B}, ""}));
  CHECK_FALSE(is_valid(blocks, {7_B, {3_B, 0_B}, ""}));
  CHECK_FALSE(is_valid(blocks, {9_B, {0_B, 4_B}, ""}));
  CHECK(is_valid({{4_B, 0, 1}, {4_B, 1, 3}}, {4_B, {0_B, 0_B}, ""}));
}

TEST_CASE("packing: what online best fit scatters, planning ahead packs tight", "[sim][packing]") {
  // A and C leave; D of 6 needs both their places, but B lies between them when they are placed as
  // they come:  | A 3 | B 2 | C 3 |   planned:  | A 3 | C 3 | B 2 | and later  | D 6 | B 2 |
  const Blocks blocks{{3_B, 0, 3}, {2_B, 1, 6}, {3_B, 2, 4}, {6_B, 5, 7}};
  CHECK(max_live(blocks) == 8_B);
  CHECK(packed_in_time(blocks, TimeOrder::forward).height == 11_B);
  const Packing packing = packed(blocks);
  CHECK(packing.height == 8_B);
  CHECK(is_valid(blocks, packing));
}

TEST_CASE("packing: nested lives stack without loss", "[sim][packing]") {
  Blocks blocks;
  for (std::uint64_t i = 0; i < 50; ++i) {
    blocks.push_back({Bytes{1 + i * 7 % 13}, i, 100 - i});
  }
  CHECK(packed_in_time(blocks, TimeOrder::forward).height == max_live(blocks));
  CHECK(packed_greedily(blocks, max_live(blocks), 1'000'000).height == max_live(blocks));
}

TEST_CASE("packing: nothing to place", "[sim][packing]") {
  CHECK(max_live({}) == 0_B);
  CHECK(packed({}).height == 0_B);
  CHECK(packed({}).offsets.empty());
}

TEST_CASE("packing: between the optimum and twice of it on small inputs", "[sim][packing]") {
  test::Dice dice(3);
  std::size_t optimal = 0;
  constexpr std::size_t kInputs = 150;
  for (std::size_t input = 0; input < kInputs; ++input) {
    const Blocks blocks = random_blocks(dice, 4 + dice.below(4), 6);
    const Packing packing = packed(blocks);
    const Bytes best = optimum(blocks);
    REQUIRE(is_valid(blocks, packing));
    REQUIRE(max_live(blocks) <= best);
    REQUIRE(best <= packing.height);
    CHECK(packing.height <= best * 2);
    optimal += packing.height == best ? 1U : 0U;
  }
  CHECK(optimal >= kInputs * 9 / 10);
}

TEST_CASE("packing: each heuristic is valid on random inputs", "[sim][packing][property]") {
  test::Dice dice(5);
  for (const std::size_t count : {1U, 2U, 30U, 400U, 1500U}) {
    for (const std::uint64_t longest : {2U, 40U, 1000U}) {
      const Blocks blocks = random_blocks(dice, count, longest);
      const Bytes live = max_live(blocks);
      // Few steps cut the run into stretches, many leave it whole.
      for (const std::uint64_t steps : {8'000'000ULL, 1'600'000ULL, 3'000'000ULL}) {
        const Packing greedy = packed_greedily(blocks, live, steps);
        CAPTURE(count, longest, steps);
        CHECK((greedy.offsets.empty() || is_valid(blocks, greedy)));
        CHECK((greedy.offsets.empty() || greedy.height >= live));
      }
      CHECK(is_valid(blocks, packed_in_time(blocks, TimeOrder::forward)));
      CHECK(is_valid(blocks, packed_in_time(blocks, TimeOrder::backward)));
      const Packing packing = packed(blocks);
      CHECK(is_valid(blocks, packing));
      CHECK(packed(blocks).offsets == packing.offsets);
    }
  }
}

TEST_CASE("packing: a long run is cut into stretches and stays close to the live bytes",
          "[sim][packing]") {
  // 60 steps: 100 blocks kept, in each step 150 activations that go in reverse order, a temporary
  // beside each. Steps of 400 operations on 24000 blocks: cut for the steps allowed here.
  test::Dice dice(11);
  Blocks blocks;
  for (std::uint64_t i = 0; i < 100; ++i) {
    blocks.push_back({Bytes{1000 + dice.below(1000)}, i, 40000});
  }
  for (std::uint64_t step = 0; step < 60; ++step) {
    const std::uint64_t start = 1000 + step * 600;
    for (std::uint64_t i = 0; i < 150; ++i) {
      blocks.push_back({Bytes{500 + dice.below(500)}, start + 2 * i, start + 599 - 2 * i});
      blocks.push_back({Bytes{2000 + dice.below(9000)}, start + 2 * i + 1, start + 2 * i + 2});
    }
  }
  const Packing packing = packed_greedily(blocks, max_live(blocks), 100'000'000);
  REQUIRE(is_valid(blocks, packing));
  CHECK(static_cast<double>(packing.height.count()) <
        1.02 * static_cast<double>(max_live(blocks).count()));
}
