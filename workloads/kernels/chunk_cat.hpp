// Scratch of the two kernels that pack shards: split_with_sizes_copy.out and _chunk_cat.out.
//
// Both send tables (addresses, sizes, which thread block serves which tensor) to the device in one
// block of int64, which is freed when the operator returns. Facts: ATen/native/cuda/TensorShape.cu,
// PyTorch 2.6.
#pragma once

#include <cstdint>
#include <span>

#include "workloads/plan/gpu.hpp"

namespace highwater {

/// Bytes of the tables of split_with_sizes_copy.out of a contiguous [rows, sum(parts)] matrix
/// along dimension 1; `part_bytes` is the length of each part of a row, in bytes.
std::int64_t split_copy_tables(const Gpu& gpu, std::int64_t rows,
                               std::span<const std::int64_t> part_bytes);

/// Bytes of the tables of _chunk_cat.out; `chunk_bytes` is the length of one padded chunk of each
/// tensor in the output's type, in bytes.
std::int64_t chunk_cat_tables(std::span<const std::int64_t> chunk_bytes);

}  // namespace highwater
