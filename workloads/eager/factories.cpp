#include <algorithm>
#include <limits>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

Tensor make_on(Ref<Storage> storage, const Dims& sizes, const Dims& strides, DType dtype) {
  Ref<TensorImpl> impl(new TensorImpl);
  impl->storage = std::move(storage);
  impl->sizes = sizes;
  impl->strides = strides;
  impl->dtype = dtype;
  return Tensor(std::move(impl));
}

Tensor make(Runtime& runtime, Place place, const Dims& sizes, const Dims& strides, DType dtype) {
  return make_on(runtime.allocate(element_count(sizes) * item_size(dtype), place), sizes, strides,
                 dtype);
}

}  // namespace

Tensor empty(Runtime& runtime, const Dims& sizes, DType dtype) {
  return make(runtime, Place::cuda, sizes, contiguous_strides(sizes), dtype);
}

std::vector<Tensor> empty_equal(Runtime& runtime, std::int64_t elements, std::int64_t count,
                                DType dtype) {
  constexpr std::int64_t kMost =
      std::numeric_limits<std::uint16_t>::max();  // of Event::equal_blocks
  std::vector<Tensor> tensors;
  while (count > 0) {
    const std::int64_t now = std::min(count, kMost);
    const Dims sizes{elements / count * now + elements % count * now / count};
    tensors.push_back(make_on(runtime.allocate_equal_blocks(sizes.front() * item_size(dtype),
                                                            static_cast<std::uint16_t>(now)),
                              sizes, contiguous_strides(sizes), dtype));
    elements -= sizes.front();
    count -= now;
  }
  return tensors;
}

Tensor empty_on(Runtime& runtime, Place place, const Dims& sizes, DType dtype) {
  return make(runtime, place, sizes, contiguous_strides(sizes), dtype);
}

Tensor empty_strided(Runtime& runtime, const Dims& sizes, const Dims& strides, DType dtype) {
  return make(runtime, Place::cuda, sizes, strides, dtype);
}

Tensor empty_like(const Tensor& self) {
  return empty_like(self, self.dtype());
}

Tensor empty_like(const Tensor& self, DType dtype) {
  const bool dense = is_non_overlapping_and_dense(self.sizes(), self.strides());
  return make(self.runtime(), self.place(), self.sizes(),
              dense ? self.strides() : dense_strides(self.sizes(), self.strides()), dtype);
}

Tensor arange(Runtime& runtime, std::int64_t count, DType dtype) {
  OpScope op(runtime, "arange");
  return empty(runtime, {count}, dtype);
}

Tensor alias(const Tensor& self) {
  Ref<TensorImpl> impl(new TensorImpl);
  impl->storage = self->storage;
  impl->sizes = self.sizes();
  impl->strides = self.strides();
  impl->offset = self->offset;
  impl->dtype = self.dtype();
  return Tensor(std::move(impl));
}

Tensor detach(const Tensor& self) {
  return alias(self);
}

}  // namespace highwater::eager
