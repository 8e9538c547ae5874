// A request that is freed at once leaves everything but the peaks of what is allocated as it was.
#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/allocator_under_test.hpp"
#include "tests/support/dice.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

using test::Dice;

constexpr int kTouchSteps = 400;
constexpr int kNames = 24;
const StreamId kTouchedStream{std::uint32_t{0}};

Bytes random_size(Dice& dice) {
  return Bytes{1 + (dice.one_in(2) ? dice.below(4096) : dice.below(30 << 20U))};
}

void check_peaks(const Statistics& statistics, const Statistics& expected) {
  for (const Stat stat : {Stat::allocation, Stat::allocated_bytes, Stat::requested_bytes,
                          Stat::active, Stat::active_bytes, Stat::reserved_bytes}) {
    const StatValue value = statistics.all(stat);
    CHECK(value.current == expected.all(stat).current);
    CHECK(value.peak == expected.all(stat).peak);
    CHECK(value.allocated == expected.all(stat).allocated);
  }
}

/// Without what names an allocator's own pools.
StateImage image_of(AllocatorUnderTest& under_test) {
  StateImage image = under_test.model().image().value();
  for (Block& block : image.blocks) {
    block.home = nullptr;
  }
  return image;
}

/// The same random steps on two allocators, of which one is touched where the other allocates and
/// frees.
class Twins {
 public:
  explicit Twins(const AllocatorUnderTest::Setup& setup) : touched_(setup), plain_(setup) {}

  void step(Dice& dice) {
    const std::string name = std::to_string(dice.below(kNames));
    if (!live_[std::stoul(name)]) {
      const Bytes size = random_size(dice);
      both([&](AllocatorUnderTest& each) { each.alloc(name, size); });
    } else {
      const bool is_used_elsewhere = dice.one_in(4);
      both([&](AllocatorUnderTest& each) {
        if (is_used_elsewhere) {
          each.record_stream(name, 1);
        }
        each.free(name);
      });
    }
    live_[std::stoul(name)] ^= true;
    if (dice.one_in(6)) {
      both([](AllocatorUnderTest& each) { each.events_done(1); });
    }
  }

  /// Whether a block served.
  bool touch(Bytes size) {
    if (!touched_.model().touch(size, kTouchedStream)) {
      return false;
    }
    CachingAllocator& model = plain_.model();
    model.free(model.allocate(size, kTouchedStream).block);
    return true;
  }

  void check() {
    CHECK(touched_.picture() == plain_.picture());
    CHECK(image_of(touched_) == image_of(plain_));
    check_peaks(touched_.stats(), plain_.stats());
  }

 private:
  template <class Do>
  void both(Do act) {
    act(touched_);
    act(plain_);
  }

  AllocatorUnderTest touched_;
  AllocatorUnderTest plain_;
  std::array<bool, kNames> live_{};
};

}  // namespace

TEST_CASE("touch: as an allocation and its immediate free, in a random state",
          "[allocator][touch]") {
  const std::string conf = GENERATE("", "expandable_segments:True", "max_split_size_mb:21",
                                    "roundup_power2_divisions:4");
  const std::string torch = GENERATE("2.6", "2.15");
  int served = 0;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    CAPTURE(conf, torch, seed);
    Dice dice(seed);
    Twins twins({.conf = conf, .torch = torch});
    for (int i = 0; i < kTouchSteps; ++i) {
      twins.step(dice);
      served += twins.touch(random_size(dice)) ? 1 : 0;
    }
    twins.check();
  }
  CHECK(served > kTouchSteps);
}

TEST_CASE("touch: nothing is done where no cached block serves", "[allocator][touch]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 4_MiB);
  CHECK(under_test.model().touch(16_MiB, kTouchedStream));
  CHECK_FALSE(under_test.model().touch(17_MiB, kTouchedStream));
  CHECK_FALSE(under_test.model().touch(4_MiB, StreamId{std::uint32_t{1}}));
  CHECK(under_test.picture() == "[a:4M free:16M]");
  CHECK(under_test.stats().all(Stat::allocated_bytes).peak == std::int64_t{20} << 20U);
}

TEST_CASE("touch: nothing is done where the state does not come back", "[allocator][touch]") {
  AllocatorUnderTest under_test({.torch = "2.12"});
  under_test.alloc("a", 4_MiB);
  CHECK_FALSE(under_test.model().touch(4_MiB, kTouchedStream));
}
