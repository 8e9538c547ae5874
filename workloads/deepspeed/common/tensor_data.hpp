// What DeepSpeed does to tensors behind autograd's back: `tensor.data = other`, slices of flat
// buffers.
#pragma once

#include <cstdint>

#include "workloads/eager/ops.hpp"

namespace highwater::deepspeed {

/// tensor.data = other: from now on the same tensor object refers to other's storage.
inline void set_data(const eager::Tensor& tensor, const eager::Tensor& other) {
  tensor->sizes = other.sizes();
  tensor->strides = other.strides();
  tensor->offset = other->offset;
  tensor->dtype = other.dtype();
  tensor->storage = other->storage;
}

/// flat.narrow(0, start, numel).view(sizes) of a flat buffer; `numel` is that of `sizes`.
inline eager::Tensor narrow_as(const eager::Tensor& flat, std::int64_t start,
                               const eager::Dims& sizes) {
  eager::Tensor view = eager::alias(flat);
  view->offset = flat->offset + start;
  view->sizes = sizes;
  view->strides = eager::contiguous_strides(sizes);
  return view;
}

/// p.data = q.data for each p and q of unflatten(flat, tensors).
template <class Tensors>
void divide(const eager::Tensor& flat, const Tensors& tensors) {
  std::int64_t start = 0;
  for (const eager::Tensor& tensor : tensors) {
    set_data(tensor, narrow_as(flat, start, tensor.sizes()));
    start += tensor.numel();
  }
}

/// _flatten_dense_tensors: a single tensor stays as it is, several are copied one after the other.
template <class Tensors>
eager::Tensor flatten_dense(const Tensors& tensors) {
  std::vector<eager::Tensor> flat;
  for (const eager::Tensor& tensor : tensors) {
    flat.push_back(narrow_as(tensor, 0, {tensor.numel()}));
  }
  return flat.size() == 1 ? flat.front() : eager::cat(flat, 0);
}

}  // namespace highwater::deepspeed
