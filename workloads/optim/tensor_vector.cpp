#include "workloads/optim/tensor_vector.hpp"

#include <algorithm>

#include "workloads/eager/ops.hpp"
#include "workloads/kernels/foreach.hpp"
#include "workloads/kernels/reduce.hpp"

namespace highwater::optim {

namespace {

std::uint64_t mask_of(const Dims& dims, std::size_t rank) {
  std::uint64_t mask = 0;
  for (const auto dim : dims) {
    mask |= dim_bit(static_cast<int>(dim), static_cast<int>(rank));
  }
  return mask;
}

Dims norm_sizes(const Dims& sizes, std::uint64_t mask, eager::KeepDim keepdim) {
  Dims result;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool is_reduced = mask == 0 || ((mask >> i) & 1U) != 0;
    if (!is_reduced || keepdim == eager::KeepDim::yes) {
      result.push_back(is_reduced ? 1 : sizes[i]);
    }
  }
  return result;
}

void use_norm_scratch(const Tensor& self, std::uint64_t mask) {
  Runtime& runtime = self.runtime();
  const ReduceInput input{.sizes = {self.sizes().data(), self.sizes().size()},
                          .strides = {self.strides().data(), self.strides().size()},
                          .reduced = mask,
                          .offset = self->offset,
                          .input = self.dtype(),
                          .output = self.dtype()};
  auto accumulators = runtime.allocate(reduce_accumulators(Reduction::norm, input));
  for (const auto& scratch : reduce_scratch(runtime.gpu, Reduction::norm, input)) {
    auto buffer = runtime.allocate(scratch.buffer);
    auto semaphores = runtime.allocate(scratch.semaphores);
    semaphores.reset();
    buffer.reset();
  }
}

}  // namespace

Tensor make_like(const char* op, const Tensor& like) {
  return make_like(op, like, like.dtype());
}

Tensor make_like(const char* op, const Tensor& like, DType dtype) {
  eager::OpScope scope(like.runtime(), op);
  return eager::empty_like(like, dtype);
}

Tensor vector_norm(const Tensor& self, const Dims& dims, eager::KeepDim keepdim) {
  eager::OpScope scope(self.runtime(), "linalg_vector_norm");
  const auto mask = mask_of(dims, self.dim());
  Tensor result =
      eager::empty(self.runtime(), norm_sizes(self.sizes(), mask, keepdim), self.dtype());
  if (self.numel() > 0) {
    use_norm_scratch(self, mask);
  }
  return result;
}

TensorVector foreach_norm(Runtime& runtime, std::span<const Tensor> tensors) {
  eager::OpScope scope(runtime, "_foreach_norm");
  std::vector<std::int64_t> numels;
  for (const auto& tensor : tensors) {
    numels.push_back(tensor.numel());
  }
  const DType dtype = tensors.front().dtype();
  const auto count = static_cast<std::int64_t>(tensors.size());
  const ForeachNorm scratch = highwater::foreach_norm(numels, dtype, runtime.torch);
  const auto offsets = runtime.allocate(scratch.offsets);
  const auto partial = runtime.allocate(scratch.partial);
  TensorVector norms;
  if (runtime.torch < Release{2, 3}) {
    const Tensor all = eager::empty(runtime, {count}, dtype);
    for (std::int64_t i = 0; i < count; ++i) {
      norms.push_back(eager::select(all, 0, i));
    }
    return norms;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    norms.push_back(eager::empty(runtime, {}, dtype));
  }
  return norms;
}

std::vector<DType> dtype_groups(std::span<const Tensor> tensors) {
  std::vector<DType> found;
  for (const auto& tensor : tensors) {
    if (std::ranges::find(found, tensor.dtype()) == found.end()) {
      found.push_back(tensor.dtype());
    }
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace highwater::optim
