#include "workloads/kernels/embedding.hpp"

#include <algorithm>
#include <utility>

#include "workloads/kernels/division.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kIndex = 8;  ///< int64

constexpr Release kCuda13{2, 11};  ///< from here on the wheels are built with it

/// CUB places the parts of its storage at multiples of 256 and asks for 255 bytes more.
std::int64_t align(std::int64_t bytes) {
  return divide_up(bytes, 256) * 256;
}

constexpr std::int64_t kAlignmentSlack = 255;

/// Items per thread block of CUB's kernels.
struct Tiles {
  std::int64_t sort = 0;
  std::int64_t unique = 0;
  std::int64_t select = 0;
};

Tiles tiles(const Gpu& gpu) {
  if (gpu.major >= 9) {
    return {4608, 4480, 4224};
  }
  if (gpu.major == 8) {
    return {3840, 320, 2304};
  }
  return {2816, 320, 640};
}

/// Storage of a scan: one state per tile, and 32 in front of the first.
std::int64_t scan_storage(std::int64_t count, std::int64_t tile, std::int64_t state_bytes) {
  constexpr std::int64_t kPadding = 32;
  return align(state_bytes * (kPadding + divide_up(count, tile))) + kAlignmentSlack;
}

std::int64_t scan_int64_storage(std::int64_t count) {
  constexpr std::int64_t kTile = 896;
  return scan_storage(count, kTile, 16);
}

/// A script under construction; `alloc` returns the block's number.
class Script {
 public:
  int alloc(std::int64_t bytes) {
    steps_.push_back({blocks_, bytes});
    return blocks_++;
  }

  void free(int block) { steps_.push_back({block, 0}); }

  void use(std::int64_t bytes) { free(alloc(bytes)); }

  ScratchScript take() { return std::move(steps_); }

 private:
  ScratchScript steps_;
  int blocks_ = 0;
};

/// Bits of the largest row number, as ATen counts them.
int bits_of(std::int64_t number) {
  int bits = 1;
  for (; number > 1; number /= 2) {
    ++bits;
  }
  return bits;
}

}  // namespace

std::int64_t sort_pairs_scratch(const Gpu& gpu, std::int64_t count, int bits) {
  constexpr std::int64_t kSingleTile = 2304;
  constexpr std::int64_t kDigits = 256;
  constexpr int kDigitBits = 8;
  if (count <= kSingleTile) {
    return 1;
  }
  const std::int64_t buffers = 2 * align(kIndex * count);
  const std::int64_t histograms = divide_up(bits, kDigitBits) * kDigits * 8;
  const std::int64_t lookback = divide_up(count, tiles(gpu).sort) * kDigits * 4;
  const std::int64_t counters = 256;
  return buffers + histograms + lookback + counters + kAlignmentSlack;
}

ScratchScript embedding_backward(const Gpu& gpu, std::int64_t indices, std::int64_t num_weights,
                                 std::int64_t dim, DType grad) {
  constexpr std::int64_t kUnsortedLimit = 3072;
  constexpr std::int64_t kRowsPerPartial = 10;
  constexpr std::int64_t kFloat = 4;
  const std::int64_t weight_bytes = num_weights * dim * item_size(grad);
  Script script;
  if (indices <= kUnsortedLimit) {
    script.alloc(weight_bytes);
    return script.take();
  }
  const std::int64_t segments = std::min(indices, num_weights);
  const std::int64_t partials = indices / kRowsPerPartial + segments;
  const int sorted = script.alloc(indices * kIndex);
  const int original = script.alloc(indices * kIndex);
  const int range = script.alloc(indices * kIndex);
  script.use(sort_pairs_scratch(gpu, indices));
  script.free(range);
  script.alloc(weight_bytes);
  const int segment_offsets = script.alloc(indices * kIndex);
  const int segment_count = script.alloc(kIndex);
  const int unique_keys = script.alloc(indices * kIndex);
  script.use(scan_storage(indices, tiles(gpu).unique, 8));
  script.free(unique_keys);
  const int partials_per_segment = script.alloc(segments * kIndex);
  const int partial_offsets = script.alloc(segments * kIndex);
  script.use(scan_int64_storage(segments));
  const int partial_count = script.alloc(kIndex);
  const int partial_starts = script.alloc(partials * kIndex);
  script.use(partials * dim * kFloat);
  for (const int block : {partial_starts, partial_count, partial_offsets, partials_per_segment,
                          segment_count, segment_offsets, original, sorted}) {
    script.free(block);
  }
  return script.take();
}

ScratchScript index_put_accumulate(const Gpu& gpu, std::int64_t indices, std::int64_t rows) {
  Script script;
  const int wrapped = script.alloc(indices * kIndex);
  const int scaled = script.alloc(indices * kIndex);
  script.free(wrapped);
  const int sorted = script.alloc(indices * kIndex);
  const int original = script.alloc(indices * kIndex);
  const int range = script.alloc(indices * kIndex);
  script.use(sort_pairs_scratch(gpu, indices, bits_of(rows - 1)));
  for (const int block : {range, original, sorted, scaled}) {
    script.free(block);
  }
  return script.take();
}

ScratchScript sort_int64(const Gpu& gpu, std::int64_t count) {
  constexpr std::int64_t kSmall = 4096;
  Script script;
  script.alloc(count * kIndex);
  script.alloc(count * kIndex);
  const int range = script.alloc(count * kIndex);
  if (count > kSmall) {
    script.use(sort_pairs_scratch(gpu, count));
  }
  script.free(range);
  return script.take();
}

std::int64_t cumsum_scratch(std::int64_t rows, std::int64_t length, DType type, Release torch) {
  constexpr std::int64_t kFloatTile = 1920;
  if (rows != 1) {
    return 0;
  }
  const std::int64_t second_part = torch >= kCuda13 ? align(1) : 0;
  return second_part + (item_size(type) == kIndex ? scan_int64_storage(length)
                                                  : scan_storage(length, kFloatTile, 8));
}

ScratchScript nonzero(const Gpu& gpu, std::int64_t count) {
  constexpr std::int64_t kSingleTile = 4096;
  constexpr std::int64_t kBlocksPerMultiprocessor = 40;
  constexpr std::int64_t kCount = 4;
  Script script;
  const int counter = script.alloc(kCount);
  const std::int64_t blocks = kBlocksPerMultiprocessor * gpu.multiprocessors;
  script.use(count <= kSingleTile ? 1 : align(blocks * kCount) + kAlignmentSlack);
  script.use(scan_storage(count, tiles(gpu).select, 8));
  script.free(counter);
  return script.take();
}

}  // namespace highwater
