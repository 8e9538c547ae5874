// How accelerate fills a model that fully_shard has sharded on meta (cpu_ram_efficient_loading):
// the first rank has the weights on its host, and scatters them one by one.
//
// Mirrors fsdp2_load_full_state_dict of accelerate 1.15 (utils/fsdp_utils.py) and distribute_tensor
// of PyTorch 2.15 (torch/distributed/tensor/_api.py).
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "workloads/distributed/fsdp2/fsdp_param.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::dist {

/// What becomes of a share on the GPU: it stays until the model has all of them, or, where
/// parameters are offloaded, is copied to the host at once (torchtune 0.6.1, training/
/// _distributed.py load_from_full_model_state_dict, with cpu_offload).
enum class SharesOnGpu : std::uint8_t { stay, go_if_offloaded };

class FullStateDict {
 public:
  /// `place`: of the rank that loads.
  FullStateDict(ShardPlace place, SharesOnGpu shares_on_gpu)
      : place_(place), shares_on_gpu_(shares_on_gpu) {}

  /// The next entry of the state dict: the whole parameter comes to the GPU, and its share with it.
  /// A tied parameter has two entries, and keeps the first share.
  void load(FsdpParam& param);

  /// An entry that is quantised as a whole into the parts that `params` are the shards of
  /// (torchtune 0.6.1, the same function).
  void load(std::span<FsdpParam* const> params, const nn::QuantizedWeight& weight);

  /// The last whole parameter goes, and the last parts.
  void release_whole() {
    whole_.reset();
    eager::release_list(parts_);
  }

 private:
  ShardPlace place_;
  SharesOnGpu shares_on_gpu_;
  eager::Tensor whole_;                ///< full_param or full_tensor
  std::vector<eager::Tensor> parts_;   ///< chunk, which views the parts of the whole
  std::vector<eager::Tensor> shares_;  ///< sharded_sd
  std::unordered_set<const FsdpParam*> loaded_;
};

}  // namespace highwater::dist
