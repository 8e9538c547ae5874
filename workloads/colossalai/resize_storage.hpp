// UntypedStorage.resize_(): frees the memory of a tensor that stays alive
// (aten/src/ATen/native/cuda/Resize.h).
#pragma once

#include "workloads/eager/tensor.hpp"

namespace highwater::dist {

/// All tensors of `tensor`'s storage see the new size. The new block exists before the old one is
/// freed; a size of 0 has no block.
void resize_storage(const eager::Tensor& tensor, std::int64_t bytes);

}  // namespace highwater::dist
