// Megatron-Core's mixed-precision optimizers around Adam: fp32 copies of all parameters
// (Float16OptimizerWithFloat16Params), or of this rank's shard of each bucket
// (DistributedOptimizer).
//
// Source: Megatron-Core 0.16.1, core/optimizer/{optimizer,distrib_optimizer,clip_grads}.py with
// FusedAdam (Transformer Engine, Apex), which keeps two fp32 moments and needs nothing else. Muon
// (0.19.2) is one of two in a chain: matrices are its, all else is Adam's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/megatron/data_parallel/ddp.hpp"
#include "workloads/megatron/data_parallel/muon.hpp"
#include "workloads/plan/precision.hpp"

namespace highwater::megatron {

/// How the matrices of a MixedPrecisionOptimizer are updated.
struct Muon {
  Orthogonalizer orthogonalizer;
  std::optional<QkvSplit> split;  ///< of linear_qkv.weight
  bool has_nesterov = false;
};

/// Which parameters of a DistributedDataParallel an optimizer has.
enum class Managed : std::uint8_t {
  all,
  matrices,
  more_matrices,  ///< of an optimizer that has those of another as well
  others
};

class MixedPrecisionOptimizer {
 public:
  /// `ddp` must outlive the optimizer. `precision` is the model's: fp32 needs no copies.
  MixedPrecisionOptimizer(DistributedDataParallel& ddp, Precision precision,
                          Managed managed = Managed::all, std::optional<Muon> muon = {});

  /// prepare_grads: gradients of the copies, views into the buffer if it is fp32.
  void prepare_grads();

  void clip_grad_norm();

  /// The update, the copy back, and the gathering of other ranks' shards.
  void step();

  void zero_grad();

  /// scale_loss.
  [[nodiscard]] Tensor scale(const Tensor& loss) const;

 private:
  struct Slot {
    Range range;       ///< of the gradients
    Tensor parameter;  ///< what Adam updates: an fp32 copy, or the parameter
    Tensor grad;
    Tensor exp_avg;  ///< Muon's momentum
    Tensor exp_avg_sq;
    bool is_qkv = false;
    std::optional<std::int64_t> partition_dim;  ///< of a matrix that Muon updates
  };

  enum class Parameters : std::uint8_t { matrices, vectors };
  void make_slots(Parameters which);
  [[nodiscard]] std::optional<Range> owned(std::size_t param) const;
  [[nodiscard]] Tensor number(std::int64_t count, DType dtype, Category category) const;
  void unscale();
  [[nodiscard]] bool manages(const Tensor& param) const;

  [[nodiscard]] bool is_muon() const { return muon_.has_value(); }

  [[nodiscard]] Tensor updated_copy(const Tensor& param, const Range& part) const;
  void update_by_muon();
  [[nodiscard]] Tensor muon_update(const Slot& slot) const;

  DistributedDataParallel& ddp_;
  eager::Runtime& runtime_;
  bool has_scaler_;
  Managed managed_;
  std::optional<Muon> muon_;
  Tensor found_inf_;
  Tensor overflow_;
  Tensor scale_;
  std::array<Tensor, 3> scaler_factors_;  ///< of fp16's loss scale
  std::vector<Slot> slots_;
};

}  // namespace highwater::megatron
