// Rotary embedding by complex numbers: pairs of a head's elements times a table.
//
// Source: torchtitan of January 2025, models/llama/model.py (apply_rotary_emb); 0.3,
// models/common/rope.py (ComplexRoPE).
#pragma once

#include "workloads/eager/ops.hpp"

namespace highwater::torchtitan {

/// view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
inline eager::Tensor as_complex(const eager::Tensor& x) {
  eager::Dims pairs = x.sizes();
  pairs.back() /= 2;
  pairs.push_back(2);
  return eager::view_as_complex(eager::reshape(eager::to_dtype(x, DType::fp32), pairs));
}

/// view_as_real(complex * table).flatten(3)
inline eager::Tensor turned(const eager::Tensor& complex, const eager::Tensor& table) {
  return eager::flatten(eager::view_as_real(eager::mul(complex, table)), 3, 4);
}

}  // namespace highwater::torchtitan
