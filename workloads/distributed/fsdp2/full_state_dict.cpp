#include "workloads/distributed/fsdp2/full_state_dict.hpp"

#include <utility>

namespace highwater::dist {

using eager::Runtime;
using eager::Tensor;

// The first rank binds the name to the weight on the host before it copies that; the others make
// the next tensor while they still have the last one.
void FullStateDict::load(FsdpParam& param) {
  Runtime& runtime = param.unsharded().runtime();
  if (place_.rank == 0) {
    whole_.reset();
  }
  {
    const eager::OpScope op(runtime, place_.rank == 0 ? "_to_copy" : "empty");
    whole_ = eager::empty(runtime, param.unsharded().sizes(), param.orig_dtype());
  }
  const Tensor share = param.scattered_share();
  if (loaded_.insert(&param).second) {
    param.assign(share);
  }
  if (shares_on_gpu_ == SharesOnGpu::stay || !param.is_offloaded()) {
    shares_.push_back(share);
  }
}

void FullStateDict::load(std::span<FsdpParam* const> params, const nn::QuantizedWeight& weight) {
  whole_.reset();
  std::vector<Tensor> parts = weight.quantized_again();
  eager::release_list(parts_);
  parts_ = std::move(parts);
  for (FsdpParam* param : params) {
    const Tensor share = param->scattered_share();
    param->assign(share);
    shares_.push_back(share);
  }
}

}  // namespace highwater::dist
