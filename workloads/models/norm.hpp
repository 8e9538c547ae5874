// The norms of decoders as the families write them in Python: chains of elementwise operators in
// fp32, or torch's layer_norm.
#pragma once

#include "workloads/nn/module.hpp"
#include "workloads/plan/model/decoder/norm_kind.hpp"

namespace highwater::models {

using eager::Tensor;
using nn::Module;

class Norm : public Module {
 public:
  Norm(Module* parent, std::string name, std::int64_t width, NormKind kind);

  /// A weight of more than one dimension: of `heads` heads.
  Norm(Module* parent, std::string name, const eager::Dims& sizes, NormKind kind);

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor x) const;

 private:
  [[nodiscard]] Tensor normalized(Tensor x) const;
  [[nodiscard]] Tensor llama(Tensor x) const;
  [[nodiscard]] Tensor gemma(Tensor x) const;
  [[nodiscard]] Tensor power(Tensor x) const;
  [[nodiscard]] Tensor torchtitan(Tensor x) const;
  [[nodiscard]] Tensor cast_last(Tensor x) const;
  [[nodiscard]] Tensor layer_1p(Tensor x) const;
  [[nodiscard]] Tensor layer_in_steps(Tensor x) const;

  NormKind kind_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace highwater::models
