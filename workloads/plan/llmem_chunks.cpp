#include "workloads/plan/llmem_chunks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace highwater {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t sum_of(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

// Tensors far above the others (an embedding) do not decide the size: _filter_exlarge_params.
std::vector<std::int64_t> without_outliers(std::span<const std::int64_t> sizes) {
  constexpr double kDeviations = 3;
  const auto count = static_cast<double>(sizes.size());
  const double mean = static_cast<double>(sum_of(sizes)) / count;
  double squares = 0;
  for (const std::int64_t size : sizes) {
    squares += std::pow(static_cast<double>(size) - mean, 2);
  }
  const double limit = mean + kDeviations * std::sqrt(squares / count);
  std::vector<std::int64_t> kept;
  std::ranges::copy_if(sizes, std::back_inserter(kept),
                       [limit](auto size) { return static_cast<double>(size) <= limit; });
  return kept;
}

// _get_unused_byte: the unused rest of all chunks, the last one included.
std::int64_t waste(std::span<const std::int64_t> sizes, std::int64_t chunk_size) {
  std::int64_t wasted = 0;
  std::int64_t left = 0;
  for (const std::int64_t size : sizes) {
    if (size > left) {
      wasted += left;
      left = chunk_size;
    }
    left -= size;
  }
  return wasted + left;
}

}  // namespace

std::int64_t gemini_chunk_size(std::span<const std::int64_t> sizes, int dp,
                               const ChunkSearch& search) {
  const std::int64_t total = sum_of(sizes);
  if (total < search.smallest) {
    return total;
  }
  const std::vector<std::int64_t> kept = without_outliers(sizes);
  const std::int64_t start =
      round_up(std::max(search.smallest, std::ranges::max(kept)), search.step);
  std::int64_t best = start;
  std::int64_t least = waste(kept, start);
  for (std::int64_t size = start + search.step; size <= start + search.range; size += search.step) {
    const std::int64_t wasted = waste(kept, size);
    if (wasted < least) {
      least = wasted;
      best = size;
    }
  }
  return round_up(best, dp);
}

std::vector<std::int64_t> gemini_chunks(std::span<const std::int64_t> sizes,
                                        std::int64_t chunk_size) {
  std::vector<std::int64_t> chunks;
  std::int64_t left = 0;
  for (const std::int64_t size : sizes) {
    if (size > left) {
      chunks.push_back(std::max(size, chunk_size));
      left = chunks.back();
    }
    left -= size;
  }
  return chunks;
}

}  // namespace highwater
