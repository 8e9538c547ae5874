#include "workloads/megatron/layers/norm.hpp"

#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/megatron/layers/fused_ops.hpp"

namespace highwater::megatron {

OnHost::OnHost(nn::ModelContext& context)
    : place_(context.place, eager::Place::host), dtype_(context.dtype, DType::fp32) {}

Norm::Norm(nn::Module* parent, std::string name, const Config& config)
    : Module(parent, std::move(name)), rms_(config.rms_norm) {
  const nn::InModule scope(*this);
  const OnHost on_host(context());
  weight_ = make_parameter("weight", {config.hidden});
  if (!rms_) {
    bias_ = make_parameter("bias", {config.hidden});
  }
}

Tensor Norm::operator()(Tensor x) const {
  const nn::InModule scope(*this);
  return rms_ ? megatron::rms_norm(x, weight_) : eager::layer_norm(x, weight_, bias_);
}

}  // namespace highwater::megatron
