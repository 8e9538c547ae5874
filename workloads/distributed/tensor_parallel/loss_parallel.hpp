// Cross entropy of logits that are split along the vocabulary: loss_parallel().
//
// Mirrors torch/distributed/tensor/parallel/loss.py of PyTorch 2.6: log_softmax and nll_loss as
// chains of operators on local tensors with three sums over the ranks; the backward of both in one.
#pragma once

#include "workloads/distributed/device_mesh.hpp"

namespace highwater::dist {

/// F.cross_entropy(logits, target) of [rows, this rank's classes] and [rows], reduction mean.
eager::Tensor parallel_cross_entropy(DeviceMesh& mesh, const eager::Tensor& logits,
                                     const eager::Tensor& target);

}  // namespace highwater::dist
