// RMSNorm as the families write it in Python: a chain of elementwise operators in fp32.
#pragma once

#include "workloads/nn/module.hpp"

namespace highwater::models {

using eager::Tensor;
using nn::Module;

enum class NormKind : std::uint8_t {
  llama,      ///< weight * x.to(input dtype); also T5, Mixtral, DeepSeek
  gemma,      ///< (x * (1 + weight)) in fp32, cast at the end
  torchtitan  ///< weight * x.type_as(input), x not bound again
};

class RmsNorm : public Module {
 public:
  RmsNorm(Module* parent, std::string name, std::int64_t width, NormKind kind);

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor x) const;

 private:
  [[nodiscard]] Tensor normalized(Tensor x) const;
  [[nodiscard]] Tensor llama(Tensor x) const;
  [[nodiscard]] Tensor gemma(Tensor x) const;
  [[nodiscard]] Tensor torchtitan(Tensor x) const;

  NormKind kind_;
  Tensor weight_;
};

}  // namespace highwater::models
