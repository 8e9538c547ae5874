// Reductions: output, then the scratch of the reduction kernel (kernels/reduce.hpp).
#include "workloads/kernels/reduce.hpp"

#include <algorithm>
#include <vector>

#include "workloads/eager/autocast.hpp"
#include "workloads/eager/graph_recorder.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/embedding.hpp"

namespace highwater::eager {

namespace {

std::uint64_t mask_of(const Dims& dims, std::size_t rank) {
  if (dims.empty()) {
    return (std::uint64_t{1} << rank) - 1;
  }
  std::uint64_t mask = 0;
  for (const auto dim : dims) {
    mask |= std::uint64_t{1} << wrap(dim, rank);
  }
  return mask;
}

Dims reduced_sizes(const Dims& sizes, std::uint64_t mask, KeepDim keepdim) {
  Dims result;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool reduced = ((mask >> i) & 1U) != 0;
    if (!reduced) {
      result.push_back(sizes[i]);
    } else if (keepdim == KeepDim::yes) {
      result.push_back(1);
    }
  }
  return result;
}

ReduceInput reduce_input(const Tensor& self, std::uint64_t mask, DType output) {
  return {.sizes = {self.sizes().data(), self.sizes().size()},
          .strides = {self.strides().data(), self.strides().size()},
          .reduced = mask,
          .offset = self->offset,
          .input = self.dtype(),
          .output = output};
}

void use_scratch(Runtime& runtime, Reduction kind, const ReduceInput& input) {
  const auto accumulators = runtime.allocate(reduce_accumulators(kind, input));
  for (const auto& scratch : reduce_scratch(runtime.gpu, kind, input)) {
    auto buffer = runtime.allocate(scratch.buffer);
    auto semaphores = runtime.allocate(scratch.semaphores);
    semaphores.reset();
    buffer.reset();
  }
}

// A sum of integers converts its input to int64 first, which takes a copy (make_reduction of
// native/ReduceOpsUtils.h); floating-point inputs are widened inside the kernel.
Tensor summand(const Tensor& self, Reduction kind, DType output) {
  const bool converts = kind == Reduction::sum && !is_floating_point(self.dtype());
  if (!converts || self.dtype() == output) {
    return self;
  }
  NoGrad no_grad(self.runtime());
  return to_dtype(self, output);
}

// The output is contiguous whatever the input's strides are.
Tensor reduce(const char* op, Reduction kind, const Tensor& self, const Dims& dims, KeepDim keepdim,
              DType output) {
  Runtime& runtime = self.runtime();
  OpScope scope(runtime, op);
  const RecordedScope record(runtime, op, {&self, 1});
  const auto mask = mask_of(dims, self.dim());
  Tensor result = empty(runtime, reduced_sizes(self.sizes(), mask, keepdim), output);
  if (self.numel() > 0) {
    const Tensor input = summand(self, kind, output);
    use_scratch(runtime, kind, reduce_input(input, mask, output));
  }
  return result;
}

// sum_backward: the gradient is expanded, which is a view.
Tensor expand_back(Tensor grad, const Dims& sizes, std::uint64_t mask, KeepDim keepdim) {
  if (keepdim == KeepDim::no && !sizes.empty()) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (((mask >> i) & 1U) != 0) {
        grad = unsqueeze(grad, static_cast<std::int64_t>(i));
      }
    }
  }
  return expand(grad, sizes);
}

}  // namespace

Tensor sum(const Tensor& self, const Dims& dims, KeepDim keepdim) {
  const AutocastOp cast(self.runtime());
  const bool widened = cast.active() && is_low_precision(self.dtype());
  const DType integral = is_floating_point(self.dtype()) ? self.dtype() : DType::int64;
  return sum(self, dims, keepdim, widened ? DType::fp32 : integral);
}

Tensor sum(const Tensor& self, const Dims& dims, KeepDim keepdim, DType dtype) {
  const auto node = begin_node(self.runtime(), "SumBackward1", {self});
  Tensor result = reduce("sum", Reduction::sum, self, dims, keepdim, dtype);
  finish_node(node, result,
              [sizes = self.sizes(), mask = mask_of(dims, self.dim()),
               keepdim = dims.empty() ? KeepDim::yes : keepdim](Node&, TensorList& grads) {
                return TensorList{expand_back(grads[0], sizes, mask, keepdim)};
              });
  return result;
}

// mean_backward: sum_backward(grad) / n.
Tensor mean(const Tensor& self, std::int64_t dim, KeepDim keepdim) {
  const auto node = begin_node(self.runtime(), "MeanBackward1", {self});
  Tensor result = reduce("mean", Reduction::mean, self, {dim}, keepdim, self.dtype());
  finish_node(
      node, result,
      [sizes = self.sizes(), mask = mask_of({dim}, self.dim()), keepdim](Node&, TensorList& grads) {
        const Tensor expanded = expand_back(grads[0], sizes, mask, keepdim);
        return TensorList{pointwise("div", {expanded}, expanded.dtype())};
      });
  return result;
}

Tensor sum_to(const Tensor& self, const Dims& sizes) {
  if (self.sizes() == sizes) {
    return self;
  }
  const auto leading = self.dim() - sizes.size();
  Dims dims;
  for (std::size_t i = 0; i < self.dim(); ++i) {
    if (i < leading || (sizes[i - leading] == 1 && self.sizes()[i] != 1)) {
      dims.push_back(static_cast<std::int64_t>(i));
    }
  }
  Tensor result = dims.empty() ? self : sum(self, dims, KeepDim::yes);
  return leading > 0 ? view(result, sizes) : result;
}

Tensor reduce_plain(const char* op, const Tensor& self, const Dims& dims, KeepDim keepdim,
                    DType dtype) {
  const auto kind = dtype == DType::boolean ? Reduction::logical : Reduction::amax;
  return reduce(op, kind, self, dims, keepdim, dtype);
}

// ReduceAllOps.cpp max: the kernel reads a contiguous tensor.
Tensor max(const Tensor& self) {
  Runtime& runtime = self.runtime();
  const OpScope op(runtime, "max");
  Tensor result = empty(runtime, {}, self.dtype());
  const Tensor input = contiguous(self);
  use_scratch(runtime, Reduction::amax,
              reduce_input(input, mask_of({}, input.dim()), self.dtype()));
  return result;
}

Tensor vector_norm(const Tensor& self, std::int64_t dim) {
  return reduce("linalg_vector_norm", Reduction::norm, self, {dim}, KeepDim::no, self.dtype());
}

// Integers are summed as int64: the input is converted first (ATen/native/ReduceOps.cpp).
Tensor cumsum(const Tensor& self, std::int64_t dim) {
  return cumsum(self, dim, is_floating_point(self.dtype()) ? self.dtype() : DType::int64);
}

Tensor cumsum(const Tensor& self, std::int64_t dim, DType dtype) {
  OpScope op(self.runtime(), "cumsum");
  Tensor result = empty(self.runtime(), self.sizes(), dtype);
  const Tensor input = to_dtype(self, dtype);
  const auto length = self.size(dim);
  const auto rows = length == 0 ? 0 : self.numel() / length;
  self.runtime().allocate(cumsum_scratch(rows, length, dtype, self.runtime().torch));
  return result;
}

Tensor histc(const Tensor& self, std::int64_t bins) {
  const OpScope op(self.runtime(), "histc");
  return empty(self.runtime(), {bins}, self.dtype());
}

}  // namespace highwater::eager
