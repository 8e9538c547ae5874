// torch.autograd.graph.save_on_cpu(pin_memory=True): saved tensors wait for backward on the host.
//
// Source: PyTorch 2.6, torch/autograd/graph.py (save_on_cpu: pack_to_cpu, unpack_from_cpu). Every
// saved tensor, including parameters and views, is copied to its own pinned block; each use in
// backward makes a new, contiguous copy on the GPU. Only the innermost hooks see a tensor: what a
// checkpointed block saves goes to the checkpoint, but the block's arguments come here.
#pragma once

#include "workloads/eager/runtime.hpp"

namespace highwater::nn {

/// The context manager.
class SaveOnCpu : public eager::SavedTensorHooks {
 public:
  explicit SaveOnCpu(eager::Runtime& runtime) : runtime_(runtime) {
    runtime.saved_tensor_hooks.push_back(this);
  }

  SaveOnCpu(const SaveOnCpu&) = delete;
  SaveOnCpu& operator=(const SaveOnCpu&) = delete;

  ~SaveOnCpu() override { runtime_.saved_tensor_hooks.pop_back(); }

  eager::Ref<eager::Packed> pack(const eager::Tensor& tensor) override;

 private:
  eager::Runtime& runtime_;
};

}  // namespace highwater::nn
