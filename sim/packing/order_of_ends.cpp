#include "sim/packing/order_of_ends.hpp"

#include <algorithm>
#include <numeric>

namespace highwater {
namespace {

constexpr unsigned kDigitBits = 16;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

/// `order` sorted by one digit of the ends, ties in the order they had.
OrderOfEnds sorted_by_digit(std::span<const PackingBlock> blocks, unsigned shift,
                            const OrderOfEnds& order) {
  const auto digit = [&](std::uint32_t i) { return (blocks[i].end >> shift) % kDigits; };
  std::vector<std::size_t> begin(kDigits + 1);
  for (const std::uint32_t i : order) {
    ++begin[digit(i) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  OrderOfEnds sorted(order.size());
  for (const std::uint32_t i : order) {
    sorted[begin[digit(i)]++] = i;
  }
  return sorted;
}

}  // namespace

OrderOfEnds order_of_ends(std::span<const PackingBlock> blocks) {
  OrderOfEnds order(blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::uint64_t latest = 0;
  for (const PackingBlock& block : blocks) {
    latest = std::max(latest, block.end);
  }
  for (unsigned shift = 0; shift < 64 && latest >> shift != 0; shift += kDigitBits) {
    order = sorted_by_digit(blocks, shift, order);
  }
  return order;
}

}  // namespace highwater
