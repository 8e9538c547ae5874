// Options of torch.nn.parallel.DistributedDataParallel, of its communication hooks and of the
// optimizer that PyTorch has for use with it.
//
// Defaults: PyTorch 2.6, torch/nn/parallel/distributed.py and
// torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py (PowerSGDState).
#pragma once

#include <cstdint>
#include <optional>

namespace highwater {

/// What reduces a full bucket: the reducer itself, or a hook that the program registered
/// (register_comm_hook; default_hooks.py, powerSGD_hook.py).
enum class DdpCommHook : std::uint8_t { none, allreduce, fp16_compress, bf16_compress, powersgd };

/// PowerSGDState: gradients as products of two thin matrices.
struct PowerSgd {
  int rank = 1;                     ///< matrix_approximation_rank
  int start_iter = 1000;            ///< start_powerSGD_iter: all-reduces before that iteration
  double min_compression_rate = 2;  ///< matrices that would shrink by less than this stay whole
  bool error_feedback = true;  ///< use_error_feedback: what was lost is added in the next iteration
  bool warm_start = true;      ///< the matrices of the last iteration are used again

  bool operator==(const PowerSgd&) const = default;
};

/// torch.distributed.optim.ZeroRedundancyOptimizer (zero_redundancy_optimizer.py): each rank steps
/// its part of the parameters and sends them to the others, one by one, or in one block of each
/// rank that its parameters are moved to (parameters_as_bucket_view).
enum class ZeroRedundancyKind : std::uint8_t { none, parameters, buckets };

/// DistributedDataParallel's own options.
struct Ddp {
  std::optional<double> bucket_cap_mb;  ///< MiB of every bucket; absent: 1 of the first, then 25
  bool bucket_view = false;             ///< gradient_as_bucket_view
  bool static_graph = false;
  bool find_unused = false;  ///< find_unused_parameters
  DdpCommHook comm_hook = DdpCommHook::none;
  PowerSgd power_sgd;
  ZeroRedundancyKind zero_redundancy = ZeroRedundancyKind::none;

  bool operator==(const Ddp&) const = default;
};

constexpr bool spreads_states(const Ddp& ddp) {
  return ddp.zero_redundancy != ZeroRedundancyKind::none;
}

}  // namespace highwater
