// The start from a picture of a state: what is restored goes on as the original would have.
#include <algorithm>
#include <array>
#include <span>

#include <catch2/catch.hpp>

#include "allocator/invariants.hpp"
#include "allocator/simulated_device.hpp"
#include "tests/support/program.hpp"
#include "tests/support/program_runner.hpp"

namespace highwater {
namespace {

using namespace literals;

constexpr StreamId kOnlyStream{std::uint32_t{0}};
constexpr Address kBegin{0x6e0000000000};  // before all that the simulated device hands out

MapBlock block_at(Address address, Bytes size, BlockState state) {
  return {.address = address,
          .size = size,
          .requested = state == BlockState::inactive ? 0_B : size,
          .state = state,
          .handle = {}};
}

MapBlock used(Bytes offset, Bytes size) {
  return block_at(kBegin + offset, size, BlockState::active_allocated);
}

MapBlock unused(Bytes offset, Bytes size) {
  return block_at(kBegin + offset, size, BlockState::inactive);
}

/// A segment of these blocks; with a reservation, a mapped range of it.
MapSegment segment_of(std::vector<MapBlock> blocks,
                      std::optional<AddressRange> reservation = std::nullopt) {
  MapSegment segment;
  segment.address = blocks.front().address;
  segment.size = blocks.back().range().end() - blocks.front().address;
  segment.stream = kOnlyStream;
  segment.reservation = segment.range();
  if (reservation) {
    segment.is_expandable = true;
    segment.reservation = *reservation;
  }
  segment.blocks = std::move(blocks);
  return segment;
}

/// An allocator of 2.6 that starts from `map`, and what it hands out, as offsets from kBegin.
class Restored {
 public:
  explicit Restored(const MemoryMap& map, std::string_view conf = "")
      : device_({}),
        allocator_(device_, parse_settings(conf, version_preset("2.6")), version_preset("2.6")) {
    allocator_.restore(map);
  }

  BlockId alloc(Bytes size) { return allocator_.allocate(size, kOnlyStream).block; }

  Bytes place_of(BlockId block) { return allocator_.block(block).address - kBegin; }

  CachingAllocator& model() { return allocator_; }

 private:
  SimulatedDevice device_;
  CachingAllocator allocator_;
};

TEST_CASE("restore: a segment ranks by its address among those that follow",
          "[allocator][restore]") {
  Restored restored({{segment_of({unused(0_B, 20_MiB)})}});
  const BlockId old_one = restored.alloc(20_MiB);
  const BlockId new_one = restored.alloc(20_MiB);
  restored.model().free(new_one);
  restored.model().free(old_one);
  CHECK(restored.place_of(restored.alloc(20_MiB)) == 0_B);
}

TEST_CASE("restore: a reservation ranks by its address among those that follow",
          "[allocator][restore]") {
  Restored restored({{segment_of({unused(0_B, 20_MiB)}, AddressRange{kBegin, 20_MiB})}},
                    "expandable_segments:True");
  const BlockId old_one = restored.alloc(20_MiB);
  const BlockId new_one = restored.alloc(20_MiB);
  restored.alloc(20_MiB);  // behind the new one, so that it cannot grow
  restored.model().free(new_one);
  restored.model().free(old_one);
  CHECK(restored.place_of(restored.alloc(20_MiB)) == 0_B);
}

TEST_CASE("restore: of two reservations the memory at the lower address serves first",
          "[allocator][restore]") {
  const AddressRange first{kBegin, 1024_MiB};
  const AddressRange second{kBegin + 1_GiB, 984_MiB};  // both have as much room to grow
  Restored restored(
      {{segment_of({unused(40_MiB, 20_MiB)}, first), segment_of({unused(1_GiB, 20_MiB)}, second)}},
      "expandable_segments:True");
  CHECK(restored.place_of(restored.alloc(20_MiB)) == 40_MiB);
}

TEST_CASE("restore: a gap that is mapped later ranks by its address", "[allocator][restore]") {
  const AddressRange reservation{kBegin, 1_GiB};
  Restored restored(
      {{segment_of({used(0_B, 5_MiB), unused(5_MiB, 10_MiB), used(15_MiB, 5_MiB)}, reservation),
        segment_of({used(40_MiB, 20_MiB)}, reservation)}},
      "expandable_segments:True");
  const BlockId before = restored.alloc(10_MiB);
  const BlockId in_gap = restored.alloc(10_MiB);
  REQUIRE(restored.place_of(in_gap) == 20_MiB);
  REQUIRE(restored.place_of(restored.alloc(10_MiB)) == 30_MiB);
  restored.model().free(in_gap);
  restored.model().free(before);
  CHECK(restored.place_of(restored.alloc(10_MiB)) == 5_MiB);
}

TEST_CASE("restore: fixed segments from the split limit on are oversize", "[allocator][restore]") {
  Restored restored({{segment_of({unused(0_B, 62_MiB)}), segment_of({used(1_GiB, 64_MiB)}),
                      segment_of({unused(2_GiB, 80_MiB)}, AddressRange{kBegin + 2_GiB, 1_GiB})}},
                    "max_split_size_mb:64");
  CHECK(restored.model().statistics().oversize_segments.current == 1);
  CHECK(restored.model().statistics().oversize_allocations.current == 1);
}

}  // namespace
}  // namespace highwater

namespace highwater::program {
namespace {

/// Without a second stream, so that no freed block waits (after a start it would be in use), and
/// without reservations that are empty, which no picture shows.
constexpr std::array kContinued{
    Profile{.name = "fixed", .room = Room::tight, .max_split = true},
    Profile{.name = "pools", .pools = Pools::kept},
    Profile{.name = "expandable", .sizes = Sizes::large, .expandable = true},
    Profile{
        .name = "expandable pools", .pools = Pools::kept, .max_split = true, .expandable = true},
    Profile{.name = "toggled", .toggles_expandable = true},
};

template <class Kind>
auto count_of(std::span<const Instruction> instructions) {
  return std::ranges::count_if(
      instructions, [](const Instruction& i) { return std::holds_alternative<Kind>(i); });
}

/// The first place in the second half of `program` where no pool is open.
std::size_t middle_of(const Program& program) {
  const std::span<const Instruction> all = program.instructions;
  std::size_t middle = all.size() / 2;
  while (middle < all.size() &&
         count_of<PoolBegin>(all.first(middle)) > count_of<PoolEnd>(all.first(middle))) {
    ++middle;
  }
  return middle;
}

TEST_CASE("restore: an allocator that starts from a state decides as the one it was taken from",
          "[allocator][restore][property]") {
  for (const Profile& profile : kContinued) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(profile.name, seed);
      const Program program = generate(profile, seed, 300);
      Runner<CachingAllocator> original(program);
      Runner<CachingAllocator> continued(program);
      const std::size_t middle = middle_of(program);
      for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        if (i == middle) {
          continued.restart();
        }
        REQUIRE(to_string(continued.step(program.instructions[i])) ==
                to_string(original.step(program.instructions[i])));
      }
      CHECK(continued.decisions() == original.decisions());
      CHECK(lines_of_map(continued.allocator().memory_map()) ==
            lines_of_map(original.allocator().memory_map()));
    }
  }
}

}  // namespace
}  // namespace highwater::program
