// One parameter under fully_shard: this rank's shard and the gathered parameter.
//
// Mirrors FSDPParam of PyTorch 2.6 (torch/distributed/fsdp/_fully_shard/_fsdp_param.py), sharded
// along dimension 0. The tensor that the modules hold acts as the unsharded parameter: its storage
// is freed and allocated again, and autograd accumulates into it. The shard is a tensor of its own,
// which the optimizer updates. With CPUOffloadPolicy the shard and its gradient are in pinned host
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/distributed/process_group.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::dist {

/// Which part of everything a rank holds.
struct ShardPlace {
  int ranks = 1;
  int rank = 0;
};

/// The precisions of a fully_shard call (MixedPrecisionPolicy).
struct FsdpPrecision {
  std::optional<DType> param;   ///< of the gathered parameters; absent: as they are
  std::optional<DType> reduce;  ///< of the reduction; absent: that of the gradients
};

/// Whether fully_shard keeps gradients as that of 2.15 does.
inline bool is_recent_fsdp(const eager::Runtime& runtime) {
  return runtime.torch >= Release{2, 15};
}

class FsdpParam {
 public:
  /// Makes this rank's shard of `param`, padded to the rows of rank 0; the whole stays until
  /// drop_original().
  FsdpParam(eager::Tensor param, ShardPlace place, const FsdpPrecision& precision,
            bool offload_to_cpu = false);

  /// The modules' tensor loses its data: it is the unsharded parameter from now on.
  void drop_original();

  /// Module.to_empty() of a model on meta, to where the shard belongs: it gets a block, without
  /// padding.
  void to_empty();

  /// This rank's share of the whole parameter, scattered by the rank that has it: padded, on the
  /// GPU.
  [[nodiscard]] eager::Tensor scattered_share() const;

  /// The whole parameter in its own type, gathered into a new block.
  [[nodiscard]] eager::Tensor full_tensor(ProcessGroup& group) const;

  /// load_state_dict(assign=True): `share` is the shard from now on.
  void assign(eager::Tensor share);

  /// A shard without its padding gets a padded block instead, one on the host a pinned one
  /// (reset_sharded_param).
  void reset_sharded_param();

  [[nodiscard]] bool is_offloaded() const { return offload_to_cpu_; }

  /// Of a shard on the host: its copy on the GPU, in the type that is gathered.
  [[nodiscard]] eager::Tensor all_gather_input() const;

  void allocate_unsharded();
  void free_unsharded();

  /// A gradient that is not yet reduced is kept in the type of the reduction.
  void to_accumulated_grad_if_needed();

  /// Of 2.15 (_set_unsharded_grad_dtypes): gradients are cast to the type of the reduction when
  /// they arrive, but in a backward that reduces them, or that adds to such a one, not at all.
  void defer_upcast(bool reduces);
  void upcast_from_now_on();
  void accumulate_unsharded_grad_if_needed();

  /// Releases and returns the gradient of the whole parameter; undefined if there is none.
  [[nodiscard]] eager::Tensor take_unsharded_grad();

  /// This rank's gradient lies in `flat` from element `offset` on; a second one is added in place.
  /// Then the shard's post-accumulate-grad hook runs, if it has one. If the shard is on the host,
  /// its gradient is copied there.
  void accumulate_sharded_grad(const eager::Tensor& flat, std::int64_t offset);

  /// The host waits until the gradient of this backward has arrived (grad_offload_event).
  void wait_for_grad_offload(StreamId reduce_scatter);

  /// This rank's rows, a leaf as the optimizer sees it.
  [[nodiscard]] const eager::Tensor& sharded() const { return sharded_; }

  /// The tensor that modules use.
  [[nodiscard]] const eager::Tensor& unsharded() const { return unsharded_; }

  [[nodiscard]] DType orig_dtype() const { return sharded_.dtype(); }

  /// Elements of one rank's shard with its padding.
  [[nodiscard]] bool is_padded() const;

  [[nodiscard]] std::int64_t padded_numel() const { return eager::element_count(padded_sizes_); }

 private:
  [[nodiscard]] std::vector<eager::Tensor> padded_shares() const;
  void place_shard(const eager::Tensor& block);
  eager::Tensor offloaded(eager::Tensor grad);

  eager::Tensor unsharded_;
  eager::Tensor sharded_;
  eager::Tensor accumulated_grad_;  ///< unsharded_accumulated_grad
  eager::Dims padded_sizes_;
  eager::Dims sharded_sizes_;
  int ranks_;
  std::optional<DType> param_dtype_;
  std::optional<DType> reduce_dtype_;
  bool offload_to_cpu_;
  bool is_pinned_ = false;
  std::optional<eager::Moment> grad_offload_event_;
};

}  // namespace highwater::dist
