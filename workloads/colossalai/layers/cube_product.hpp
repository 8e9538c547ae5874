// The product of 3D layers: operands gathered over two sides of the cube, the result reduced over
// the third.
//
// Source: Colossal-AI 0.5.0, legacy/nn/layer/parallel_3d/_operation.py: _Linear3D,
// _VocabParallelClassifier3D.
#pragma once

#include <cstdint>

#include "workloads/colossalai/layers/cube.hpp"
#include "workloads/colossalai/layers/python_context.hpp"

namespace highwater::colossalai {

/// Which way a weight lies: a linear layer's is [in, out], a head's [classes, in].
enum class WeightLayout : std::uint8_t { in_out, out_in };

class CubeProduct {
 public:
  /// `cube` must outlive it.
  CubeProduct(Cube& cube, const CubeGroups& groups, WeightLayout layout)
      : cube_(cube), groups_(groups), layout_(layout) {}

  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& parameter) const;

 private:
  [[nodiscard]] Tensor oriented(const Tensor& weight) const;
  [[nodiscard]] Tensor forward(FunctionContext& context, const Tensor& x,
                               const Tensor& parameter) const;
  [[nodiscard]] TensorList backward(eager::Node& node, const Tensor& part,
                                    const Tensor& parameter) const;

  Cube& cube_;
  CubeGroups groups_;
  WeightLayout layout_;
};

}  // namespace highwater::colossalai
