// torch.distributed.fsdp.FullyShardedDataParallel (FSDP1) around a model and each of its blocks.
//
// Mirrors fully_sharded_data_parallel.py, _runtime_utils.py, _exec_order_utils.py and
// _limiter_utils.py of PyTorch 2.6 with transformer_auto_wrap_policy over the class of the model's
// blocks. Every block is a unit; everything else belongs to the root. Buffers are cast to the
// compute type (MixedPrecision.buffer_dtype = param_dtype).
//
// Blocks live on four streams: gathered parameters and, as autograd runs a view's backward where
// its forward ran, unsharded gradients on the unshard stream; cast shards on the pre-unshard
// stream; reduced gradients on the post-backward stream; everything else on the default stream.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "workloads/distributed/fsdp1/flat_param_handle.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/strategy/wrapper.hpp"

namespace highwater {
struct Parallelism;
}

namespace highwater::dist {

class FullyShardedDataParallel : public Wrapper {
 public:
  /// `model` must outlive the wrapper. Without hybrid_shard all `plan.dp` ranks share the shards.
  FullyShardedDataParallel(models::LanguageModel& model, const Parallelism& plan);
  FullyShardedDataParallel(const FullyShardedDataParallel&) = delete;
  FullyShardedDataParallel& operator=(const FullyShardedDataParallel&) = delete;
  ~FullyShardedDataParallel() override;

  models::Outputs forward(models::Inputs inputs) override;

  [[nodiscard]] std::vector<eager::Tensor> parameters() const override;

  /// FullyShardedDataParallel.clip_grad_norm_.
  void clip_gradients() override;

  /// no_sync().
  void set_gradient_sync(GradientSync sync) override {
    syncs_gradients_ = sync == GradientSync::on;
  }

 private:
  class UnitHooks;

  /// _FSDPState: one wrapped module.
  struct Unit {
    nn::Module* module = nullptr;
    bool is_root = false;
    std::unique_ptr<FlatParamHandle> handle;
    std::optional<std::size_t> pre_forward_index;
    std::optional<std::size_t> post_forward_index;
    bool is_prefetched = false;
    bool needs_pre_forward_unshard = false;
    bool needs_pre_backward_unshard = false;
    bool ran_pre_backward = false;
    bool is_hooked = false;                       ///< has _post_backward_hook_state
    std::vector<eager::Ref<eager::Node>> hooked;  ///< AccumulateGrad nodes
  };

  struct Streams {
    StreamId unshard;
    StreamId post_backward;
    StreamId pre_unshard;
    StreamId all_reduce;
  };

  /// An event after the release of gathered parameters.
  struct FreeEvent {
    StreamId stream;
    eager::Moment moment = 0;
  };

  void add_unit(nn::Module& module, FlattenedParams& flattened);
  void sync_states(nn::Module& module, const FlattenedParams& flattened);
  void sort_units();
  void lazy_init();
  void cast_buffers();
  void root_pre_forward();

  void pre_forward(Unit& unit, std::span<eager::Tensor> arguments);
  void post_forward(Unit& unit, std::span<const eager::Tensor> results);
  void pre_backward(Unit& unit);
  void post_backward(Unit& unit);
  void final_callback();

  void unshard(Unit& unit);
  void wait_for_free_slot();
  void reshard(Unit& unit, Unsharded unsharded);
  void prefetch(Unit& unit, HandleState mode);
  Unit* next_to_prefetch(const Unit& unit, HandleState mode) const;
  void record_pre_forward(Unit& unit);
  void record_post_forward(Unit& unit);
  void hook_post_backward(Unit& unit);
  void hook_reshard_only(Unit& unit, std::span<const eager::Tensor> arguments);
  void reshard_in_backward(Unit& unit);
  [[nodiscard]] bool prefetches_in(HandleState backward) const;
  [[nodiscard]] Unsharded after_backward(const FlatParamHandle& handle) const;

  void reduce_gradient(Unit& unit);
  void reduce_sharded(Unit& unit);
  void reduce_replicated(Unit& unit);
  void accumulate_sharded(FlatParamHandle& handle, const eager::Tensor& sharded_grad);
  void finalize(Unit& unit);

  eager::Tensor gradient_norm(const std::vector<eager::Tensor>& grads);
  void reduce_norm_of_host();
  void scale_gradients(const std::vector<eager::Tensor>& grads);

  models::LanguageModel& model_;
  eager::Runtime& runtime_;
  Fsdp plan_;
  bool offload_params_;  ///< CPUOffload
  int rank_;             ///< among the ranks that share the shards
  ProcessGroup shards_;
  std::optional<ProcessGroup> replicas_;
  std::vector<std::unique_ptr<Unit>> units_;  ///< the root first, then the blocks in order
  std::unordered_set<const void*> synced_buffers_;
  std::optional<Streams> streams_;  ///< once initialized
  std::vector<Unit*> pre_forward_order_;
  std::vector<Unit*> post_forward_order_;
  std::deque<FreeEvent> free_events_;
  bool is_first_iteration_ = true;
  bool syncs_gradients_ = true;
  bool has_final_callback_ = false;
  eager::Tensor zero_scalar_;
};

}  // namespace highwater::dist
