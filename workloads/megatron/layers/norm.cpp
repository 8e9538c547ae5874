#include "workloads/megatron/layers/norm.hpp"

#include <optional>
#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/layers/fused_ops.hpp"
#include "workloads/megatron/transformer_engine/norm.hpp"

namespace highwater::megatron {

OnHost::OnHost(nn::ModelContext& context)
    : place_(context.place, eager::Place::host), dtype_(context.dtype, DType::fp32) {}

Norm::Norm(nn::Module* parent, std::string name, const Config& config, std::int64_t width)
    : Module(parent, std::move(name)), rms_(config.rms_norm), is_engine_(uses_engine(context())) {
  const nn::InModule scope(*this);
  std::optional<OnHost> on_host;
  if (!is_engine_) {
    on_host.emplace(context());
  }
  weight_ = make_parameter("weight", {width});
  if (!rms_) {
    bias_ = make_parameter("bias", {width});
  }
}

Tensor Norm::operator()(Tensor x) const {
  const nn::InModule scope(*this);
  if (is_engine_) {
    return engine_norm(x, weight_, bias_);
  }
  return rms_ ? megatron::rms_norm(x, weight_) : eager::layer_norm(x, weight_, bias_);
}

}  // namespace highwater::megatron
