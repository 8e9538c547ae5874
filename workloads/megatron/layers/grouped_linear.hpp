// GroupedLinear of Transformer Engine: a weight for each expert of a rank, multiplied at once.
//
// Source: Transformer Engine 2.20, pytorch/module/grouped_linear.py, pytorch/cpp_extensions/
// gemm.py; Megatron-Core 0.16.1, core/extensions/transformer_engine.py (TEGroupedLinear).
#pragma once

#include <string>

#include "workloads/megatron/layers/layers.hpp"

namespace highwater::megatron {

class GroupedLinear : public nn::Module {
 public:
  /// `size` is that of one expert on this rank.
  GroupedLinear(nn::Module* parent, std::string name, TensorParallel& tp, std::int64_t experts,
                LinearSize size);

  /// Of [rows, in], sorted by expert.
  Tensor operator()(const Tensor& rows) const;

 private:
  TensorParallel& tp_;
  TensorList weights_;
};

}  // namespace highwater::megatron
