// The optimizer of a training run: what its construction, step and zero_grad allocate and free.
//
// Mirrors torch.optim (one object for all parameters), the optimizers of other packages and two
// wrappers around them: fp32 master copies and the update during backward.
//
// Parameters that are an optimizer's targets form its last group (transformers'
// trainer_optimizer.py: _setup_low_rank_optimizer). Muon takes nothing else, so that AdamW is a
// second object, which steps after it (the example in torch.optim.Muon's documentation).
//
// Weight decay follows the usual recipe: with two groups the first decays and the second (norms and
// biases) does not; with one group the class default applies, which is nonzero only for AdamW.
//
// Master weights are those of Megatron-LM's Float16OptimizerWithFloat16Params (core/optimizer/
// optimizer.py), as in Apex O2: when the optimizer is made each low-precision parameter gets a copy
// (param.detach().clone().float()) which it updates instead. At each step every gradient is cast to
// fp32 and the low-precision one is released at once; afterwards the copies are written back in
// place.
//
// The update during backward is PyTorch's tutorial (intermediate_source/
// optimizer_step_in_backward_tutorial): one optimizer object per parameter, run by a
// post-accumulate-grad hook that steps and sets the gradient to None.
//
// LOMO and AdaLomo (lomo_optim 0.1.1) hook into each parameter's gradient before it is accumulated:
// the hook updates the parameter whose gradient came before, so that two gradients are alive, and
// fused_backward() the last one after the backward.
#pragma once

#include <vector>

#include "workloads/eager/node.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater {

namespace optim {
/// What becomes of gradients: zero_grad(set_to_none=...).
enum class ZeroGrad : std::uint8_t { to_none, to_zero };
}  // namespace optim

class OptimizerRun {
 public:
  /// `groups` are the parameter groups, leaves in the order of model.parameters(). If they are
  /// shards of DTensors, `resharding` is given and outlives the optimizer.
  OptimizerRun(eager::Runtime& runtime, const Optimizer& choice,
               const std::vector<std::vector<eager::Tensor>>& groups,
               const optim::Resharding* resharding = nullptr);
  OptimizerRun(const OptimizerRun&) = delete;
  OptimizerRun& operator=(const OptimizerRun&) = delete;
  ~OptimizerRun();

  /// Updates the parameters that have a gradient; does nothing if backward has already done it.
  void step();

  /// What is differentiated: AdaLomo multiplies the loss.
  [[nodiscard]] eager::Tensor scaled(const eager::Tensor& loss) const;

  /// The end of LOMO's and AdaLomo's fused_backward(); nothing for others.
  void finish_backward();

  void zero_grad(optim::ZeroGrad how);

  /// True if the kernel unscales gradients itself (_step_supports_amp_scaling).
  [[nodiscard]] bool unscales_in_kernel() const { return path_ == optim::Path::fused; }

 private:
  struct Group {
    std::vector<optim::Slot> slots;
    bool decays = false;
  };

  /// One Python optimizer object.
  struct Instance {
    OptimizerKind kind = OptimizerKind::none;
    std::vector<Group> groups;
    int steps = 0;
    std::vector<eager::Tensor> maps;  ///< quantization tables of bitsandbytes
  };

  [[nodiscard]] Instance make_instance(OptimizerKind kind,
                                       const std::vector<std::vector<eager::Tensor>>& groups) const;
  void make_instances(const std::vector<std::vector<eager::Tensor>>& given);
  void make_instances_of_targets(const std::vector<std::vector<eager::Tensor>>& given);
  void make_masters(Instance& instance);
  void make_early_state(Instance& instance);
  void hook_into_backward();
  void hook_into_gradients();
  void step(Instance& instance);
  void update(optim::Update update, Group& group);
  void zero_grad(Instance& instance, optim::ZeroGrad how);

  eager::Runtime& runtime_;
  Optimizer choice_;
  const optim::Resharding* resharding_;
  optim::Path path_;
  std::vector<Instance> instances_;
  std::vector<eager::Ref<eager::Node>> hooked_;  ///< AccumulateGrad nodes, kept for their hooks
};

}  // namespace highwater
