// Matrix products of Transformer Engine, which bring a workspace of their own to cuBLASLt.
// Source: Transformer Engine 2.20, pytorch/cpp_extensions/gemm.py.
#pragma once

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

/// get_cublas_workspace(), kept from the first call on: 32 MiB and 1 KiB from compute capability
/// 9.0 on, before it 4 MiB.
void keep_product_workspace(eager::Runtime& runtime);

/// The same for each of the streams on which the experts' products run, kept from the first of
/// these on.
void keep_stream_workspaces(eager::Runtime& runtime);

/// The block of a product's result.
eager::Tensor product_block(eager::Runtime& runtime, const eager::Dims& sizes, DType dtype);

}  // namespace highwater::megatron
