// The ranks among which every layer is split, as this rank sees them: its communicator and the
// buffer that gathered activations and attention scores pass through.
//
// Source: Megatron-Core 0.16.1, core/parallel_state.py (get_global_memory_buffer), core/utils.py
// (GlobalMemoryBuffer) and core/tensor_parallel/mappings.py.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/distributed/process_group.hpp"

namespace highwater {
struct Parallelism;
}

namespace highwater::megatron {

using eager::Dims;
using eager::Tensor;
using eager::TensorList;

class TensorParallel {
 public:
  TensorParallel(eager::Runtime& runtime, const Parallelism& plan);

  [[nodiscard]] int size() const { return group_.size(); }

  [[nodiscard]] dist::ProcessGroup& group() { return group_; }

  /// config.sequence_parallel: norms, dropouts and residuals hold 1 / size of the sequence.
  [[nodiscard]] bool splits_sequence() const { return splits_sequence_; }

  /// config.gradient_accumulation_fusion.
  [[nodiscard]] bool fuses_weight_gradients() const { return fuses_weight_gradients_; }

  /// The type in which a product makes gradients of `weight`: that of DDP's buffer if it adds to
  /// it.
  [[nodiscard]] DType gradient_dtype(const Tensor& weight) const {
    return fuses_weight_gradients_ && sums_in_fp32_ ? DType::fp32 : weight.dtype();
  }

  /// What backward returns in place of a gradient of `weight` that was added to DDP's buffer.
  /// Megatron-Core allocates a block of the weight's shape each time; where Transformer Engine is
  /// installed, its get_dummy_wgrad() keeps one for each shape and type
  /// (module/base.py of 2.20; core/tensor_parallel/layers.py).
  Tensor stand_in_gradient(const Tensor& weight);

  /// A view of the global memory buffer "mpu" of this type; a larger request replaces the buffer;
  /// the new one is allocated before the old one is freed.
  Tensor global_buffer(const Dims& sizes, DType dtype);

  /// all_gather of `input` along the first dimension into the global buffer.
  Tensor gather_into_buffer(const Tensor& input, dist::Work& work);

 private:
  dist::ProcessGroup group_;
  bool splits_sequence_;
  bool fuses_weight_gradients_;
  bool sums_in_fp32_;
  bool keeps_stand_ins_;
  std::vector<Tensor> buffers_;  ///< one of each type
};

/// `sizes` with the first dimension `factor` times as long.
Dims with_first(Dims sizes, std::int64_t first);

/// reduce_from_tensor_model_parallel_region: sums over the ranks in place.
Tensor reduce_from_region(TensorParallel& tp, const Tensor& input);

/// scatter_to_sequence_parallel_region: this rank's part of the sequence, a view; backward gathers.
Tensor scatter_to_sequence(TensorParallel& tp, const Tensor& input);

/// Whether a collective gets parts of different lengths, which ProcessGroupNCCL copies to or from
/// one block.
enum class Parts : std::uint8_t { equal, listed };

/// gather_from_sequence_parallel_region: the rows of all ranks; backward sums and scatters.
Tensor gather_from_sequence(TensorParallel& tp, const Tensor& input, Parts parts = Parts::equal);

/// reduce_scatter_to_sequence_parallel_region of rows that another exchange brought; backward
/// gathers.
Tensor reduce_scatter_rows(TensorParallel& tp, const Tensor& input, Parts parts);

/// reduce_scatter_to_sequence_parallel_region: backward gathers.
Tensor reduce_scatter_to_sequence(TensorParallel& tp, const Tensor& input);

}  // namespace highwater::megatron
