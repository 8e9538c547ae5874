// What Transformer Engine's linear layers have in common, in 16 bits and in 8: the blocks of their
// products and what is sent around them.
// Source: Transformer Engine 2.20, pytorch/module/{layernorm_linear,linear}.py,
// pytorch/distributed.py.
#pragma once

#include "workloads/megatron/layers/tensor_parallel.hpp"

namespace highwater::megatron {

/// The block of a layer's result.
Tensor result_block(const Tensor& input, const Tensor& weight);

/// The block of the gradient of a layer's input.
Tensor input_gradient(const Tensor& grad_output, const Tensor& weight);

/// gather_along_first_dim.
Tensor gather_rows(TensorParallel& tp, const Tensor& part, dist::Work& work);

/// reduce_scatter_along_first_dim.
Tensor scatter_rows(TensorParallel& tp, const Tensor& whole, dist::Work& work);

/// The gradient of a column-parallel layer's input, of which every rank has a summand: summed, in
/// place or as this rank's part of the sequence.
Tensor summed_gradient(TensorParallel& tp, const Tensor& whole, dist::Work& work);

/// The result of a row-parallel layer, of which every rank has a summand.
Tensor summed_result(TensorParallel& tp, const Tensor& partial);

/// The product that makes the weight's gradient, where it does not add to DDP's buffer.
Tensor own_weight_gradient(const TensorParallel& tp, const Tensor& weight);

/// What backward returns for the weight: `own`, or a stand-in for what was added to DDP's buffer.
Tensor weight_result(TensorParallel& tp, const Tensor& weight, Tensor own);

}  // namespace highwater::megatron
