// context_parallel(mesh, buffers=[...], no_restore_buffers={...}): a scope in which each rank has
// its part of every sequence, and attention sees the others.
//
// Source: PyTorch 2.15, distributed/tensor/experimental/_context_parallel/_attention.py
// (context_parallel, _context_parallel_buffers), _load_balancer.py (_HeadTailLoadBalancer);
// placement_types.py (Shard._select_split_tensor).
#pragma once

#include <span>

#include "workloads/eager/attention_kernels.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::dist {

class ContextParallel {
 public:
  /// Cuts `buffers`, [rows, s] integers, which keep their blocks (Tensor.resize_). `attention` must
  /// outlive the scope.
  ContextParallel(eager::sdpa::SharedAttention& attention, int ranks,
                  std::span<eager::Tensor* const> buffers);

 private:
  eager::Scoped<eager::sdpa::SharedAttention*> attention_;
  eager::TensorList shards_;  ///< names of the generator's frame, which lives as long as the scope
  eager::Tensor last_;
};

}  // namespace highwater::dist
