// DoRA: the columns of weight and adapter together get a trained length (PEFT 0.21.2,
// tuners/lora/dora.py DoraLinearLayer).
//
// Each forward makes the adapters' product as a matrix of the weight's size, and the weight itself
// if it is quantised, to take the lengths that the trained ones are divided by.
#pragma once

#include "workloads/nn/layers.hpp"

namespace highwater::nn {

/// lora_magnitude_vector of one layer.
class DoraMagnitude {
 public:
  /// update_layer(): lengths of the weight's rows with the adapters `a` and `b`.
  DoraMagnitude(Linear& layer, const Linear& a, const Linear& b);

  /// What is added to the base layer's result for `x`. `base_result` is undefined where `x` has
  /// been dropped out: the layer is computed again then.
  [[nodiscard]] Tensor added(Tensor x, Tensor base_result, const Linear& a, const Linear& b) const;

  /// Makes the lengths in `dtype`.
  void convert_to(DType dtype);

 private:
  /// The module "lora_magnitude_vector.default".
  struct Vector : Module {
    using Module::Module;
  };

  [[nodiscard]] Tensor lengths_with(const Linear& a, const Linear& b) const;

  const Linear& layer_;
  Container container_;
  Vector vector_;
  Tensor magnitude_;
};

}  // namespace highwater::nn
