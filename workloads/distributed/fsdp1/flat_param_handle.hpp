// The flat parameter of one FSDP1 unit: its shard on this rank, the gathered parameter while it is
// needed, and the parameters of the unit's modules, which are views into one or the other.
//
// Mirrors FlatParamHandle of PyTorch 2.6 (torch/distributed/fsdp/_flat_param.py). With
// CPUOffload(offload_params=True) shard and gradient are in pinned host memory. Where Python gives
// a module another object for a parameter, here the module's tensor changes its contents: it is a
// view of the gathered flat parameter, with its place in the autograd graph, while the unit
// computes, and a piece of the shard otherwise.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "workloads/distributed/fsdp1/flat_param_layout.hpp"
#include "workloads/distributed/process_group.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/nn/module.hpp"
#include "workloads/plan/fsdp_options.hpp"

namespace highwater::dist {

/// HandleTrainingState.
enum class HandleState : std::uint8_t { idle, forward, backward_pre, backward_post };

/// What becomes of the gathered parameter (free_unsharded_flat_param).
enum class Unsharded : std::uint8_t { kept, freed };

constexpr Unsharded freed_if(bool condition) {
  return condition ? Unsharded::freed : Unsharded::kept;
}

/// FSDP's marks on parameters that already belong to a unit.
using FlattenedParams = std::unordered_set<const eager::TensorImpl*>;

class FlatParamHandle {
 public:
  /// Flattens and shards the parameters of `unit` that are not in `flattened` yet, and adds them.
  /// @pre there are some, of one type; `group` are the ranks that share the shards
  FlatParamHandle(nn::Module& unit, FlattenedParams& flattened, ProcessGroup& group, int rank,
                  const Fsdp& plan, bool offload_params = false);
  FlatParamHandle(const FlatParamHandle&) = delete;
  FlatParamHandle& operator=(const FlatParamHandle&) = delete;
  ~FlatParamHandle() = default;

  /// Makes a trained shard fp32 (accelerate 1.15, accelerator.py prepare_model, where mixed
  /// precision is on). The parameters remain pieces of the old one until they are next used.
  void upcast();

  /// init_flat_param_attributes: makes the buffers and frees them at once.
  void init_attributes();

  /// Moves the shard to the GPU and casts it to the compute type if it is to be gathered; returns
  /// whether it did.
  bool pre_unshard();
  void unshard();
  void post_unshard();
  void reshard(Unsharded unsharded);
  void post_reshard();

  void prepare_gradient_for_backward();
  void prepare_gradient_for_optim();
  void use_sharded_grad_views();
  void use_unsharded_grad_views();
  void reset_flat_param_grad_if_needed();

  /// The reduced gradient goes to the host (_offload_grad).
  void offload_grad(const eager::Tensor& grad);

  [[nodiscard]] bool offloads() const { return offload_params_; }

  [[nodiscard]] bool is_sharded_strategy() const { return is_sharded_; }

  [[nodiscard]] bool frees_after_forward() const { return frees_after_forward_; }

  [[nodiscard]] bool is_resharded() const;

  [[nodiscard]] DType reduce_dtype() const { return reduce_dtype_; }

  [[nodiscard]] std::int64_t padded_length() const { return shard_.padded_length(); }

  /// What the optimizer sees: the unit's parameters, or the flat one (use_orig_params off).
  [[nodiscard]] std::vector<eager::Tensor> visible_parameters() const;

  eager::Tensor flat_param;
  eager::Tensor saved_grad_shard;  ///< _saved_grad_shard while backward runs
  HandleState state = HandleState::idle;
  bool post_backward_called = false;

 private:
  /// One original parameter.
  struct Original {
    eager::Tensor parameter;  ///< the module's
    eager::Dims sizes;
    Extent in_shard;
    eager::Tensor view;         ///< flat_param._tensors[i]: what forward's graph knows
    bool is_grad_none = false;  ///< _is_grad_none_mask
  };

  using Storages = std::vector<eager::Ref<eager::Storage>>;

  void flatten(const std::vector<eager::Tensor>& parameters);
  void shard();
  bool needs_unshard() const;
  void write_back();
  void flat_param_to_host();
  void flat_param_to_device();
  void use_low_precision_shard();
  void free_low_precision_shard();
  void use_unsharded_flat_param(const eager::Tensor& padded);
  void use_forward_views();
  void use_recorded_views();
  void use_sharded_flat_param();
  void use_sharded_views();
  void use_whole_params();
  [[nodiscard]] bool holds_unsharded_grad() const;
  [[nodiscard]] eager::TensorList views_of(const eager::Tensor& flat) const;

  eager::Runtime& runtime_;
  ProcessGroup& group_;
  bool use_orig_params_;
  bool is_sharded_;
  bool frees_after_forward_;
  bool keeps_views_after_forward_;  ///< NO_RESHARD_AFTER_FORWARD_HANDLE_STRATEGIES
  DType compute_dtype_;             ///< _fwd_bwd_param_dtype
  DType reduce_dtype_;
  bool offload_params_;
  bool is_mixed_;  ///< _uses_param_mixed_precision
  FlatParamLayout layout_;
  FlatShard shard_;
  std::vector<Original> originals_;
  eager::Tensor local_shard_;
  eager::Tensor cpu_grad_;  ///< _cpu_grad
  /// The shard's copy on the GPU: the original parameters, which are in no module meanwhile, look
  /// into it until they are sharded again.
  eager::Tensor shard_on_device_;
  eager::Tensor mp_shard_;
  eager::Tensor full_param_padded_;
  bool skipped_sharded_views_ = false;
};

/// tensor.data = data: contents and type change, the place in the graph does not.
void set_data(const eager::Tensor& tensor, const eager::Tensor& data);

/// A view of the elements of `extent`.
eager::Tensor piece(const eager::Tensor& flat, const Extent& extent);

}  // namespace highwater::dist
