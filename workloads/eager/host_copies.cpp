#include "workloads/eager/host_copies.hpp"

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {
namespace {

Dims copied_strides(const Tensor& self) {
  const bool is_dense = is_non_overlapping_and_dense(self.sizes(), self.strides());
  return is_dense ? self.strides() : contiguous_strides(self.sizes());
}

Tensor pinned(Runtime& runtime, const Dims& sizes, const Dims& strides, DType dtype) {
  Ref<TensorImpl> impl(new TensorImpl);
  impl->storage = runtime.allocate_pinned(element_count(sizes) * item_size(dtype));
  impl->sizes = sizes;
  impl->strides = strides;
  impl->dtype = dtype;
  return Tensor(std::move(impl));
}

// Copy.cu: memory copies need equal layouts, and kernels cannot access both sides.
void make_contiguous_for_copy(const Tensor& self, const Dims& target_strides) {
  if (self.strides() != target_strides && !self.is_contiguous()) {
    const OpScope op(self.runtime(), "copy_");
    empty(self.runtime(), self.sizes(), self.dtype());
  }
}

}  // namespace

Tensor empty_pinned(Runtime& runtime, const Dims& sizes, DType dtype) {
  return pinned(runtime, sizes, contiguous_strides(sizes), dtype);
}

Tensor pin_memory(const Tensor& self) {
  return pinned(self.runtime(), self.sizes(), self.strides(), self.dtype());
}

Tensor to_host(const Tensor& self, bool non_blocking) {
  Runtime& runtime = self.runtime();
  const Dims strides = copied_strides(self);
  Tensor copy;
  if (non_blocking) {
    copy = pinned(runtime, self.sizes(), strides, self.dtype());
  } else {
    copy = empty_on(runtime, Place::host, self.sizes(), self.dtype());
    copy->strides = strides;
  }
  make_contiguous_for_copy(self, strides);
  if (!non_blocking) {
    runtime.synchronize();
  }
  return copy;
}

void copy_to_host(const Tensor& target, const Tensor& self) {
  make_contiguous_for_copy(self, target.strides());
  self.runtime().synchronize();
}

Tensor to_device(const Tensor& self) {
  const OpScope op(self.runtime(), "_to_copy", 0);
  return empty_strided(self.runtime(), self.sizes(), copied_strides(self), self.dtype());
}

}  // namespace highwater::eager
