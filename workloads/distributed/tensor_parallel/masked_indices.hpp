// Indices into a dimension that is split over the ranks: indices into other ranks' parts look up
// element 0 and are masked afterwards.
//
// _MaskPartial._partition_value (torch/distributed/tensor/_ops/_embedding_ops.py, PyTorch 2.6).
#pragma once

#include "workloads/eager/ops.hpp"

namespace highwater::dist {

struct MaskedIndices {
  eager::Tensor indices;  ///< counted from this rank's first place
  eager::Tensor mask;     ///< bool: belongs to another rank
};

inline MaskedIndices mask_indices_of_others(const eager::Tensor& indices) {
  MaskedIndices result;
  eager::Tensor below = eager::compare("lt", {indices});
  eager::Tensor above = eager::compare("ge", {indices});
  result.mask = eager::compare("bitwise_or", {below, above});
  eager::end_of_frame(below, above);
  const eager::Tensor copy = eager::clone(indices);
  result.indices = eager::pointwise("sub", {copy}, copy.dtype());
  indices.runtime().launch(1);  // masked_fill_
  return result;
}

}  // namespace highwater::dist
