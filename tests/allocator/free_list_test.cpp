// Rules: the free list orders by (size, rank) exactly as a std::set would, in every size class
// and beyond the size at which a class turns into a tree.
#include "allocator/free_list.hpp"

#include <malloc.h>
#include <memory>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

namespace {

FreeEntry entry(std::uint64_t size, std::uint64_t rank) {
  return {size, rank, BlockId{static_cast<std::uint32_t>(rank)}};
}

bool same(const FreeEntry* found, std::set<FreeEntry>::const_iterator expected,
          const std::set<FreeEntry>& oracle) {
  return expected == oracle.end() ? found == nullptr : found != nullptr && *found == *expected;
}

}  // namespace

TEST_CASE("free_list: best fit is the smallest block that fits, then the lowest rank",
          "[allocator][free_list]") {
  FreeList list;
  list.insert(entry(4096, 9216));
  list.insert(entry(4096, 1024));
  list.insert(entry(8192, 512));
  CHECK(list.lower_bound(512_B)->rank == 1024);
  CHECK(list.lower_bound(4_KiB)->rank == 1024);
  CHECK(list.lower_bound(Bytes{4608})->rank == 512);
  CHECK(list.lower_bound(Bytes{8704}) == nullptr);
  list.erase(entry(4096, 1024));
  CHECK(list.lower_bound(512_B)->rank == 9216);
}

TEST_CASE("free_list: order holds within a class of unequal sizes", "[allocator][free_list]") {
  FreeList list;  // 64 MiB and 64 MiB + 512 share a class
  list.insert(entry((64ULL << 20) + 512, 512));
  list.insert(entry(64ULL << 20, 1024));
  CHECK(list.first()->rank == 1024);
  CHECK(list.next(*list.first())->rank == 512);
  CHECK(list.last()->rank == 512);
  CHECK(list.previous(*list.last())->rank == 1024);
  CHECK(list.previous(*list.first()) == nullptr);
  CHECK(list.next(*list.last()) == nullptr);
}

#ifndef HIGHWATER_SANITIZED  // its allocator is not the one that is asked

namespace {

using Chunks = std::vector<std::unique_ptr<char[]>>;

/// malloc counts small chunks that it keeps for the thread as used: these are taken first.
Chunks all_spare_chunks() {
  constexpr std::size_t kLargestKept = 1040;
  constexpr int kKept = 8;
  Chunks taken;
  for (std::size_t size = 8; size <= kLargestKept; size += 16) {
    for (int i = 0; i < kKept; ++i) {
      taken.push_back(std::make_unique<char[]>(size));
    }
  }
  return taken;
}

}  // namespace

TEST_CASE("free_list: has room only for the sizes that came, so that many streams cost little",
          "[allocator][free_list]") {
  const auto heap = [] { return ::mallinfo2().uordblks; };
  const Chunks taken = all_spare_chunks();
  FreeList list;
  const std::size_t empty = heap();
  list.insert(entry(2U << 20U, 512));
  const std::size_t one_doubling = heap() - empty;
  CHECK(one_doubling > 0);
  CHECK(list.lower_bound(1_GiB) == nullptr);
  CHECK(heap() - empty == one_doubling);
  list.insert(entry(40U << 20U, 512));
  CHECK(heap() - empty > one_doubling);
  CHECK(heap() - empty <= 2 * one_doubling);  // malloc may find a chunk that fits better
  CHECK(sizeof(FreeList) <= 700);
}

#endif

TEST_CASE("free_list: the largest sizes have a class, and nothing comes after it",
          "[allocator][free_list]") {
  constexpr std::uint64_t kLargest = ~std::uint64_t{511};
  FreeList list;
  list.insert(entry(kLargest - 512, 1));
  CHECK(list.lower_bound(1_GiB)->size == kLargest - 512);
  CHECK(list.lower_bound(Bytes{kLargest}) == nullptr);
  CHECK(list.next(*list.first()) == nullptr);
  CHECK(list.last()->size == kLargest - 512);
}

TEST_CASE("free_list: agrees with a std::set while it grows and drains",
          "[allocator][free_list][property]") {
  const auto sizes = GENERATE(4U, 700U, 4000000U);  // a few crowded classes, many, all
  std::mt19937 random(sizes);
  const auto any_entry = [&] { return entry((random() % sizes + 1) * 512, random() % 2000); };
  FreeList list;
  std::set<FreeEntry> oracle;
  for (int step = 1; step <= 8000; ++step) {
    const FreeEntry chosen = any_entry();
    const bool grows = step % 4000 < 2000 ? random() % 5 < 4 : random() % 5 < 1;
    if (grows || oracle.empty()) {
      if (oracle.insert(chosen).second) {
        list.insert(chosen);
      }
    } else {
      auto victim = oracle.lower_bound(chosen);
      victim = victim == oracle.end() ? oracle.begin() : victim;
      list.erase(*victim);
      oracle.erase(victim);
    }
    const FreeEntry key = any_entry();
    REQUIRE(
        same(list.lower_bound(Bytes{key.size}), oracle.lower_bound(entry(key.size, 0)), oracle));
    REQUIRE(same(list.next(key), oracle.upper_bound(key), oracle));
    const auto before = oracle.lower_bound(key);
    REQUIRE((before == oracle.begin() ? list.previous(key) == nullptr
                                      : *list.previous(key) == *std::prev(before)));
    REQUIRE(same(list.first(), oracle.begin(), oracle));
    REQUIRE((oracle.empty() ? list.last() == nullptr : *list.last() == *std::prev(oracle.end())));
  }
  CHECK(std::ranges::equal(list.snapshot(), oracle));
}
