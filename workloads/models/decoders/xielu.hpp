// XIELUActivation (transformers 5.23, activations.py; arXiv:2411.13010) without its CUDA package:
// an activation with two parameters.
#pragma once

#include "workloads/nn/module.hpp"

namespace highwater::models {

class Xielu : public nn::Module {
 public:
  explicit Xielu(nn::Module* parent);

  nn::Tensor operator()(const nn::Tensor& x) const;

 private:
  struct Numbers {
    nn::Tensor alpha_p;
    nn::Tensor alpha_n;
    nn::Tensor beta;
    nn::Tensor eps;
  };

  [[nodiscard]] Numbers make_numbers(DType type) const;
  [[nodiscard]] nn::Tensor number(const nn::Dims& sizes, DType type) const;
  [[nodiscard]] nn::Tensor make_alpha(DType type) const;
  [[nodiscard]] nn::Tensor above(const nn::Tensor& x, const nn::Tensor& alpha) const;
  [[nodiscard]] nn::Tensor below(const nn::Tensor& x, const nn::Tensor& alpha) const;

  Numbers numbers_;
};

}  // namespace highwater::models
