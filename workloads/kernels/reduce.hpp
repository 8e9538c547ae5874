// Scratch of reductions: sum, mean, prod, amax, any, norm, argmax over some dimensions.
//
// The generic reduction kernel splits one output over several thread blocks when there are few
// outputs and long sums; then it needs a staging buffer and one counter per block column. Facts:
// ATen/native/cuda/Reduce.cuh (setReduceConfig, gpu_reduce_kernel) and TensorIterator's reordering
// and coalescing of dimensions (ATen/TensorIterator.cpp), PyTorch 2.6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workloads/plan/dtype.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

/// Which reduction: decides the accumulator's size and how many values a thread loads at once.
enum class Reduction : std::uint8_t {
  sum,
  mean,
  prod,
  amax,     ///< amax, amin, max() and min() of everything
  logical,  ///< any, all
  norm,     ///< linalg_vector_norm, norm
  argmax,   ///< argmax, argmin
  max_dim,  ///< max(dim), min(dim): values and indices
  var       ///< var, std: Welford
};

/// Allocated in this order after the output: buffer, semaphores. Freed: semaphores, buffer.
struct ReduceScratch {
  std::int64_t buffer = 0;
  std::int64_t semaphores = 0;
};

/// What a reduction reads and writes: at most 12 dimensions, none of them empty. A sum of bool or
/// int32 first copies its input to int64 (a block of its own): pass the copy's strides and dtype.
struct ReduceInput {
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;  ///< of the input, in elements
  std::uint64_t reduced = 0;              ///< bit i: dimension i is summed; 0: all of them
  std::int64_t offset = 0;                ///< of the first element from the start of its block
  DType input = DType::fp32;              ///< as stored (a cast to `output` happens in the kernel)
  DType output = DType::fp32;             ///< of the result
};

/// One entry per kernel launch that needs scratch: none in most cases, several only if the tensor
/// exceeds 32-bit offsets and is reduced in parts. Each entry is freed before the next one starts.
std::vector<ReduceScratch> reduce_scratch(const Gpu& gpu, Reduction kind, const ReduceInput& in);

/// What the scratch of one reduction is at other lengths of its sums, as long as these fill a block
/// of threads.
struct ReduceSplit {
  std::int64_t unit = 0;              ///< of the buffer, for each block that sums a part
  std::int64_t values_per_block = 0;  ///< blocks take that many values of a sum ...
  std::int64_t most_blocks = 0;       ///< ... until so many blocks keep the GPU busy; these take
                                      ///< more each, up to kMostValuesRatio times as many
  std::int64_t fewest_values = 0;     ///< shorter sums are not split
  std::int64_t semaphores = 0;
};

/// Beyond `most_blocks`, blocks are added only where each has this many times its first share.
inline constexpr std::int64_t kMostValuesRatio = 16;

/// Nothing where the reduction needs no scratch, or is made in parts.
std::optional<ReduceSplit> reduce_split(const Gpu& gpu, Reduction kind, const ReduceInput& in);

/// Bytes of the accumulators that a reduction in parts keeps around all its launches: allocated
/// after the output and before the first launch, freed at the end. 0 unless offsets exceed 32 bits
/// and the output is narrower than the accumulators (16-bit sums, argmax, max over a dimension).
std::int64_t reduce_accumulators(Reduction kind, const ReduceInput& in);

/// Bit mask of dimension `dim` (negative: from the end) of a tensor with `rank` dimensions.
constexpr std::uint64_t dim_bit(int dim, int rank) {
  return std::uint64_t{1} << (dim < 0 ? dim + rank : dim);
}

}  // namespace highwater
