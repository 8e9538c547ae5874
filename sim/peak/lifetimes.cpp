#include "sim/peak/lifetimes.hpp"

#include "traces/error.hpp"

namespace highwater {
namespace {

constexpr Bytes kLargestSum{std::uint64_t{1} << 62U};

}  // namespace

Lifetimes lifetimes_of(const RequestTrace& trace) {
  Lifetimes lives;
  constexpr std::size_t kNotAlive = ~std::size_t{0};
  std::vector<std::size_t> block_of(trace.allocation_count, kNotAlive);
  Bytes live;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && event.value > 0) {
      if (event.bytes() > kLargestSum || live + event.bytes() > kLargestSum) {
        throw InputError("", "", "live sizes exceed 2^62 bytes",
                         "no real program uses such sizes; check the trace");
      }
      live += event.bytes();
      block_of[event.allocation.index()] = lives.blocks.size();
      lives.blocks.push_back({.size = event.bytes(),
                              .begin = lives.operations,
                              .allocation = event.allocation,
                              .stack = event.stack,
                              .stream = event.stream});
    } else if (event.kind == EventKind::free) {
      std::size_t& block = block_of[event.allocation.index()];
      if (block != kNotAlive) {
        lives.blocks[block].end = lives.operations;
        live -= lives.blocks[block].size;
        block = kNotAlive;
      }
    }
    lives.operations += event.is_operation() ? 1U : 0U;
  }
  for (const std::size_t block : block_of) {
    if (block != kNotAlive) {
      lives.blocks[block].end = lives.operations;
    }
  }
  return lives;
}

}  // namespace highwater
