#include "workloads/kernels/embedding.hpp"

#include <algorithm>
#include <utility>

#include "workloads/kernels/division.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kIndex = 8;  ///< int64

constexpr Release kWideStates{2, 8};     ///< of CUB's unique_by_key: CUDA 12.8
constexpr Release kAtomicSums{2, 11};    ///< pull request 170589
constexpr Release kCuda13{2, 11};        ///< from here on the wheels are built with it
constexpr Release kSortsRowBits{2, 13};  ///< pull request 183578
constexpr Release kNewestTiles{2, 13};

/// CUB places the parts of its storage at multiples of 256 and asks for 255 bytes more.
std::int64_t align(std::int64_t bytes) {
  return divide_up(bytes, 256) * 256;
}

constexpr std::int64_t kAlignmentSlack = 255;

/// Items per thread block of CUB's kernels.
std::int64_t sort_tile(const Gpu& gpu) {
  return gpu.major >= 9 ? 4608 : gpu.major == 8 ? 3840 : 2816;
}

/// CUB has tuned compute capability 8.0, but not 8.6 and 8.9.
bool is_untuned(const Gpu& gpu) {
  return gpu.major < 8 || (gpu.major == 8 && gpu.minor > 0);
}

/// CUDA 12's CUB treats Blackwell as Hopper.
bool is_tuned_blackwell(const Gpu& gpu, Release torch) {
  return gpu.major >= 10 && torch >= kCuda13;
}

std::int64_t unique_tile(const Gpu& gpu, Release torch) {
  if (is_untuned(gpu)) {
    return 320;
  }
  const bool is_newest = torch >= kNewestTiles;
  if (gpu.major == 8) {
    return is_newest ? 1344 : 1792;
  }
  return is_newest ? 4928 : is_tuned_blackwell(gpu, torch) ? 3840 : 4480;
}

std::int64_t select_tile(const Gpu& gpu, Release torch) {
  if (is_untuned(gpu)) {
    return 640;
  }
  return gpu.major == 8 ? 2304 : is_tuned_blackwell(gpu, torch) ? 3520 : 4224;
}

/// Storage of a scan: one state per tile, and 32 in front of the first. CUDA 13's CUB has a second
/// part of one byte.
std::int64_t scan_storage(std::int64_t count, std::int64_t tile, std::int64_t state_bytes,
                          Release torch) {
  constexpr std::int64_t kPadding = 32;
  const std::int64_t second_part = torch >= kCuda13 ? align(1) : 0;
  return align(state_bytes * (kPadding + divide_up(count, tile))) + second_part + kAlignmentSlack;
}

std::int64_t scan_int64_storage(std::int64_t count, Release torch) {
  constexpr std::int64_t kTile = 896;
  return scan_storage(count, kTile, 16, torch);
}

std::int64_t unique_storage(const Gpu& gpu, std::int64_t count, Release torch) {
  return scan_storage(count, unique_tile(gpu, torch), torch >= kWideStates ? 16 : 8, torch);
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

constexpr std::int64_t kPartialSum = 4;  ///< fp32

/// The last part of embedding_backward: partial sums of `partials` segments of at most 10 rows.
struct PartialSums {
  std::int64_t segments = 0;
  std::int64_t partials = 0;
  std::int64_t dim = 0;
};

/// use_fused_kernel of EmbeddingBackwardKernel.cu: few rows with many gradients each.
bool sums_atomically(const Gpu& gpu, const PartialSums& sums, Release torch) {
  constexpr std::int64_t kWarp = 32;
  constexpr std::int64_t kMostThreads = 1024;
  constexpr std::int64_t kMostBlocksPerMultiprocessor = 4;
  constexpr std::int64_t kPartialsPerBlock = 4;
  const std::int64_t threads = divide_up(sums.dim, kWarp) * kWarp;
  const std::int64_t blocks = divide_up(sums.segments * threads, std::min(threads, kMostThreads));
  return torch >= kAtomicSums && blocks < gpu.multiprocessors * kMostBlocksPerMultiprocessor &&
         sums.partials > blocks * kPartialsPerBlock;
}

/// A map of partial sums, and for 16-bit types sums in fp32.
void sum_atomically(Script& script, const PartialSums& sums, std::int64_t weights, DType grad) {
  const int map = script.alloc(sums.partials * kIndex);
  if (is_low_precision(grad)) {
    script.use(weights * sums.dim * kPartialSum);
  }
  script.free(map);
}

}  // namespace

std::int64_t sort_pairs_scratch(const Gpu& gpu, std::int64_t count, int bits) {
  constexpr std::int64_t kSingleTile = 2304;
  constexpr std::int64_t kDigits = 256;
  constexpr int kDigitBits = 8;
  if (count <= kSingleTile) {
    return 1;
  }
  const std::int64_t passes = divide_up(bits, kDigitBits);
  const std::int64_t buffers = passes > 1 ? 2 * align(kIndex * count) : 0;
  const std::int64_t histograms = passes * kDigits * 8;
  const std::int64_t lookback = divide_up(count, sort_tile(gpu)) * kDigits * 4;
  const std::int64_t counters = 256;
  return buffers + histograms + lookback + counters + kAlignmentSlack;
}

ScratchScript embedding_backward(const Gpu& gpu, std::int64_t indices, std::int64_t num_weights,
                                 std::int64_t dim, DType grad, Release torch) {
  constexpr std::int64_t kUnsortedLimit = 3072;
  constexpr std::int64_t kRowsPerPartial = 10;
  constexpr int kAllBits = 64;
  const std::int64_t weight_bytes = num_weights * dim * item_size(grad);
  Script script;
  if (indices <= kUnsortedLimit) {
    script.alloc(weight_bytes);
    return script.take();
  }
  const std::int64_t segments = std::min(indices, num_weights);
  const PartialSums sums{segments, indices / kRowsPerPartial + segments, dim};
  const int sorted = script.alloc(indices * kIndex);
  const int original = script.alloc(indices * kIndex);
  const int range = script.alloc(indices * kIndex);
  script.use(
      sort_pairs_scratch(gpu, indices, torch >= kSortsRowBits ? bits_of(num_weights) : kAllBits));
  script.free(range);
  script.alloc(weight_bytes);
  const int segment_offsets = script.alloc(indices * kIndex);
  const int segment_count = script.alloc(kIndex);
  const int unique_keys = script.alloc(indices * kIndex);
  script.use(unique_storage(gpu, indices, torch));
  script.free(unique_keys);
  const int partials_per_segment = script.alloc(segments * kIndex);
  const int partial_offsets = script.alloc(segments * kIndex);
  script.use(scan_int64_storage(segments, torch));
  const int partial_count = script.alloc(kIndex);
  const int partial_starts = script.alloc(sums.partials * kIndex);
  if (sums_atomically(gpu, sums, torch)) {
    sum_atomically(script, sums, num_weights, grad);
  } else {
    script.use(sums.partials * dim * kPartialSum);
  }
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
  return item_size(type) == kIndex ? scan_int64_storage(length, torch)
                                   : scan_storage(length, kFloatTile, 8, torch);
}

ScratchScript nonzero(const Gpu& gpu, std::int64_t count, Release torch) {
  constexpr std::int64_t kSingleTile = 4096;
  constexpr std::int64_t kThreads = 256;  // of a block
  constexpr std::int64_t kWaves = 5;
  constexpr std::int64_t kCount = 4;
  Script script;
  const int counter = script.alloc(kCount);
  const std::int64_t blocks =
      kWaves * (gpu.max_threads_per_multiprocessor / kThreads) * gpu.multiprocessors;
  script.use(count <= kSingleTile ? 1 : align(blocks * kCount) + kAlignmentSlack);
  script.use(scan_storage(count, select_tile(gpu, torch), 8, torch));
  script.free(counter);
  return script.take();
}

}  // namespace highwater
