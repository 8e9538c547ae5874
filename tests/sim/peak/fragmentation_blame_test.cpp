// Fragmentation blame: by hand, and against a count of every block after every operation.
#include "sim/peak/fragmentation_blame.hpp"

#include <map>

#include <catch2/catch.hpp>

#include "allocator/simulated_device.hpp"
#include "tests/support/format_io.hpp"
#include "tests/support/header_options.hpp"
#include "tests/support/program.hpp"
#include "tests/support/watched_runs.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

/// The trace of `text` with the stacks given to its allocations in turn.
RequestTrace with_stacks(const std::string& text, std::uint32_t stacks) {
  RequestTrace trace = test::parse_text(text);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].kind == EventKind::alloc) {
      trace.events[i].stack = StackId{next++ % stacks};
    }
  }
  return trace;
}

const PinnedMemory& share_of(const FragmentationBlame& blame, std::uint32_t stack) {
  for (const PinningStack& share : blame.stacks) {
    if (share.origin == StackId{stack}) {
      return share.held;
    }
  }
  FAIL("no share of stack " << stack);
  return blame.stacks.front().held;
}

/// Piece by piece and block by block from the picture of the allocator, after every operation.
class SlowBlame : public ReplayObserver {
 public:
  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    allocator_ = &allocator;
    driver_ = &driver;
  }

  void on_event(const Event& event, AllocationStatus status, const Statistics&) override {
    if (event.kind == EventKind::alloc && status == AllocationStatus::ok) {
      stacks_[driver_->handle(event.allocation)] = event.stack;
    }
    if (!event.is_operation()) {
      return;
    }
    pinned.emplace_back();
    const MemoryMap map = allocator_->memory_map();
    for (const MapSegment& segment : map.segments) {
      if (!segment.is_expandable) {
        count(segment, segment.range());
        continue;
      }
      const Bytes page = expandable_page(segment.kind, allocator_->settings());
      for (Address at = segment.address; at < segment.range().end(); at = at + page) {
        count(segment, {at, page});
      }
    }
  }

  std::vector<Bytes> pinned;  ///< by operation
  std::map<StackId, long double> shares;

 private:
  void count(const MapSegment& segment, AddressRange piece) {
    Bytes free;
    std::vector<StackId> active;
    for (const MapBlock& block : segment.blocks) {
      const Address begin = std::max(block.address, piece.begin);
      const Address end = std::min(block.range().end(), piece.end());
      if (begin < end && block.state == BlockState::inactive) {
        free += end - begin;
      } else if (begin < end) {
        active.push_back(stacks_.at(block.handle));
      }
    }
    if (!active.empty()) {
      pinned.back() += free;
    }
    for (const StackId stack : active) {
      shares[stack] +=
          static_cast<long double>(free.count()) / static_cast<long double>(active.size());
    }
  }

  const CachingAllocator* allocator_ = nullptr;
  const TraceDriver* driver_ = nullptr;
  std::map<BlockId, StackId> stacks_;
};

void compare_with_slow(const program::Profile& profile, std::uint64_t seed) {
  const program::Program program = program::generate(profile, seed, 250);
  CAPTURE(profile.name, seed);
  const RequestTrace trace = with_stacks(program::to_trace(program), 7);
  ReplayOptions options = options_for(trace);
  SlowBlame slow;
  options.observer = &slow;
  const ReplayResult replayed = replay(trace, options);
  const std::size_t moment = seed * 17 % trace.events.size();
  const FragmentationBlame blame = test::blame_of(trace, options, moment);
  std::uint64_t sum = 0;
  for (const Bytes pinned : slow.pinned) {
    sum += pinned.count();
  }
  CHECK(blame.byte_operations == sum);
  CHECK(blame.operations == replayed.operations);
  std::uint64_t operations = 0;
  for (std::size_t i = 0; i <= moment; ++i) {
    operations += trace.events[i].is_operation() ? 1U : 0U;
  }
  CHECK(blame.pinned == (operations == 0 ? Bytes{} : slow.pinned[operations - 1]));
  Bytes pinned;
  std::uint64_t shares = 0;
  for (const PinningStack& share : blame.stacks) {
    pinned += share.held.bytes;
    shares += share.held.byte_operations;
    const long double exact = slow.shares[share.origin];
    CHECK(std::abs(static_cast<long double>(share.held.byte_operations) - exact) < 5000.0L);
  }
  CHECK(pinned == blame.pinned);
  CHECK(shares == blame.byte_operations);
}

}  // namespace

TEST_CASE("fragmentation blame: two blocks share what their segment has free", "[sim][blame]") {
  // One 20 MiB segment. After operation 0: 3 MiB by stack 0, 17 free. 1: 2 MiB by stack 1, 15
  // free, half each. 2: stack 0 freed: 18 free, all on stack 1. 3: nothing active, nothing pinned.
  const RequestTrace trace = with_stacks("conf \na x 3145728 0\na y 2097152 0\nf x\nf y\n", 2);
  const FragmentationBlame blame = test::blame_of(trace, options_for(trace));
  CHECK(blame.operations == 4);
  CHECK(blame.byte_operations == (50_MiB).count());
  CHECK(share_of(blame, 0).byte_operations == (17_MiB).count() + (15_MiB).count() / 2);
  CHECK(share_of(blame, 1).byte_operations == (18_MiB).count() + (15_MiB).count() / 2);
  CHECK(blame.stacks.front().origin == StackId{std::uint32_t{1}});
  CHECK(blame.moment == 0);
  CHECK(blame.pinned == 17_MiB);
  CHECK(share_of(blame, 0).active == 3_MiB);
  CHECK(share_of(blame, 1).active == 0_B);
  CHECK(blame.average_pinned() == Bytes{(50_MiB).count() / 4});
}

TEST_CASE("fragmentation blame: what a division leaves over goes to the last block",
          "[sim][blame]") {
  // 2 MiB - 3 * 512 free = 2095616 bytes, 698538 each and 2 over, at every operation.
  const RequestTrace trace = with_stacks("conf \na x 1 0\na y 1 0\na z 1 0\np\np\n", 3);
  const FragmentationBlame blame = test::blame_of(trace, options_for(trace), 4);
  const std::uint64_t three = 3 * 2095616;
  CHECK(blame.byte_operations == 2096640 + 2096128 + three);
  CHECK(share_of(blame, 0).byte_operations == 2096640 + 2096128 / 2 + three / 3);
  CHECK(share_of(blame, 1).byte_operations == 2096128 / 2 + three / 3);
  CHECK(share_of(blame, 2).byte_operations == three / 3);
  CHECK(share_of(blame, 0).bytes == 698539_B);
  CHECK(share_of(blame, 1).bytes == 698539_B);
  CHECK(share_of(blame, 2).bytes == 698538_B);
}

TEST_CASE("fragmentation blame: whole free pages of an expandable segment are nobody's fault",
          "[sim][blame]") {
  // 8 + 50 + 8 MiB fill 66 of 80 MiB in four pages of 20. The middle one is freed: pages 1 is
  // free, page 0 holds A and 12 MiB free, page 2 holds C from 58 MiB on: 18 MiB free, page 3 holds
  // its other 6 MiB and 14 MiB that were never used.
  const RequestTrace trace = with_stacks(
      "conf expandable_segments:True\na a 8388608 0\na b 52428800 0\na c 8388608 0\nf b\n", 3);
  const FragmentationBlame blame = test::blame_of(trace, options_for(trace), 3);
  CHECK(share_of(blame, 0).bytes == 12_MiB);
  CHECK(share_of(blame, 2).bytes == 32_MiB);
  CHECK(share_of(blame, 2).pinning_blocks == 1);
  CHECK(blame.pinned == 44_MiB);
  CHECK(blame.unused == 20_MiB);
}

TEST_CASE("fragmentation blame: a block that waits for another stream pins until it is let go",
          "[sim][blame]") {
  const RequestTrace trace = with_stacks("conf \na x 3145728 0\nr x 7\nf x\ne 7\na y 512 0\n", 2);
  const FragmentationBlame blame = test::blame_of(trace, options_for(trace), 3);
  CHECK(blame.pinned == 17_MiB);
  CHECK(share_of(blame, 0).byte_operations == 4 * (17_MiB).count());
}

TEST_CASE("fragmentation blame: agrees with counting every block after every operation",
          "[sim][blame][property]") {
  using program::Pools;
  using program::Room;
  using program::Sizes;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    compare_with_slow({.name = "plain", .sizes = Sizes::mixed}, seed);
    compare_with_slow({.name = "tight", .room = Room::tight, .streams = 3, .max_split = true},
                      seed);
    compare_with_slow({.name = "pools", .streams = 2, .pools = Pools::released}, seed);
    compare_with_slow({.name = "expandable", .room = Room::tight, .streams = 2, .expandable = true},
                      seed);
    compare_with_slow({.name = "toggled", .sizes = Sizes::large, .toggles_expandable = true}, seed);
  }
}
