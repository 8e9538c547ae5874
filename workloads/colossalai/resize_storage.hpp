// UntypedStorage.resize_(): memory leaves a tensor that stays (aten/src/ATen/native/cuda/Resize.h).
#pragma once

#include "workloads/eager/tensor.hpp"

namespace highwater::dist {

/// All tensors of `tensor`'s storage see the new size. The new block exists before the old one is
/// freed; 0 bytes have no block.
void resize_storage(const eager::Tensor& tensor, std::int64_t bytes);

}  // namespace highwater::dist
