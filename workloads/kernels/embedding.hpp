// Blocks of embedding's backward and of other operators built on sorting, scanning and selecting.
//
// Sizes of CUB's temporary storage follow from its tile sizes by GPU generation and release, since
// each CUDA brings its own CUB; these were fitted to recordings of about 100 lengths up to 1.7
// million under PyTorch 2.6 to 2.15, on compute capability 7.0 (up to 2.10), 8.0, 8.9, 9.0, 10.0
// and 12.0: every one is matched exactly. Other GPUs use the tile sizes of their generation. Facts:
// ATen/native/cuda/Embedding.cu, EmbeddingBackwardKernel.cu, Indexing.cu, Nonzero.cu,
// ScanKernels.cpp, ATen/cuda/cub.cuh, PyTorch 2.6; pull requests 170589 (few rows: atomic sums,
// 2.11) and 183578 (sorting by the bits of a row number, 2.13).
#pragma once

#include <cstdint>

#include "traces/release.hpp"
#include "workloads/kernels/scratch.hpp"
#include "workloads/plan/dtype.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

/// embedding_dense_backward of `indices` int64 indices into [num_weights, dim]. Up to 3072 indices
/// the only block is dW; above they are sorted, and the only block that is not freed is dW. The
/// caller makes the gradient contiguous before. padding_idx changes nothing.
ScratchScript embedding_backward(const Gpu& gpu, std::int64_t indices, std::int64_t num_weights,
                                 std::int64_t dim, DType grad, Release torch);

/// index_put_(accumulate=True) and the backward of x[index] (after its zeros), with one int64 index
/// tensor of `indices` entries over the first dimension, which has `rows`: the sorting kernel's
/// blocks. Nothing is left. The public index_put_ with accumulate checks the range of the indices
/// before (two reductions: max and min of all indices, each with a comparison); the backward does
/// not.
ScratchScript index_put_accumulate(const Gpu& gpu, std::int64_t indices, std::int64_t rows);

/// CUB temporary storage of a radix sort of `count` int64 keys with int64 values by their lowest
/// `bits` bits.
std::int64_t sort_pairs_scratch(const Gpu& gpu, std::int64_t count, int bits = 64);

/// sort(), argsort() of a 1-dimensional int64 tensor: values, indices, then these; longer than 4096
/// it needs CUB. Blocks 0 and 1 are the results.
ScratchScript sort_int64(const Gpu& gpu, std::int64_t count);

/// CUB temporary storage of cumsum, allocated after the output and freed at once; 0 if the tensor
/// has other dimensions than the scanned one (rows are scanned without). Types of 8 bytes and of
/// 4 differ.
std::int64_t cumsum_scratch(std::int64_t rows, std::int64_t length, DType type, Release torch);

/// nonzero() of `count` elements up to the read-out of how many there are: a counter, the storage
/// of the count, and that of the selection. The result [found, dims] int64 comes between the last
/// two; in the recordings nothing is found and the result has no block. The counter is freed last.
ScratchScript nonzero(const Gpu& gpu, std::int64_t count, Release torch);

}  // namespace highwater
