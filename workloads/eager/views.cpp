// Views: a new shape over the same storage. A view holds its base, so a gradient that is a view is
// never summed in place (VariableTypeUtils.h: as_view, also in no-grad mode).
#include <algorithm>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

Tensor make_view(const Tensor& self, const Dims& sizes, const Dims& strides,
                 std::int64_t skipped = 0) {
  Tensor result = alias(self);
  result->sizes = sizes;
  result->strides = strides;
  result->offset += skipped;
  result->base = self->base.defined() ? self->base : self;
  return result;
}

// A view with a gradient that `backward` turns back into the shape of `self`; it starts `skipped`
// elements after `self` does.
Tensor differentiable_view(const char* name, const Tensor& self, const Dims& sizes,
                           const Dims& strides, BackwardFunction backward,
                           std::int64_t skipped = 0) {
  const auto node = begin_node(self.runtime(), name, {self});
  Tensor result = make_view(self, sizes, strides, skipped);
  finish_node(node, result, std::move(backward));
  return result;
}

BackwardFunction reshape_back(const Tensor& self) {
  return [sizes = self.sizes()](Node&, TensorList& grads) {
    return TensorList{reshape(grads[0], sizes)};
  };
}

Dims without(const Dims& dims, std::size_t index) {
  Dims result = dims;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(index));
  return result;
}

Dims with(const Dims& dims, std::size_t index, std::int64_t value) {
  Dims result = dims;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(index), value);
  return result;
}

// slice_backward, select_backward: zeros of the full shape, the gradient is copied into a part: by
// a kernel, unless both are contiguous.
Tensor zeros_for(const char* op, const Tensor& grad, const Dims& sizes, std::size_t dim) {
  const bool leads = std::all_of(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(dim),
                                 [](std::int64_t size) { return size == 1; });
  const bool is_copied_as_memory = (leads || grad.sizes() == sizes) && grad.is_contiguous();
  OpScope scope(grad.runtime(), op, is_copied_as_memory ? 1 : 2);
  return empty(grad.runtime(), sizes, grad.dtype());
}

// split_backward: unused parts count as zeros; one cat of all.
BackwardFunction cat_back(const TensorList& parts, std::size_t dim) {
  boost::container::small_vector<Dims, 4> shapes;
  for (const auto& part : parts) {
    shapes.push_back(part.sizes());
  }
  return [shapes, dim](Node& node, TensorList& grads) {
    TensorList all = grads;
    const auto known = std::ranges::find_if(grads, [](const Tensor& g) { return g.defined(); });
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].defined()) {
        OpScope scope(*node.runtime, "zeros");
        all[i] = empty(*node.runtime, shapes[i], known->dtype());
      }
    }
    return TensorList{cat({all.data(), all.size()}, static_cast<std::int64_t>(dim))};
  };
}

TensorList views_of_parts(const char* name, const Tensor& self, std::span<const std::int64_t> sizes,
                          std::size_t dim) {
  const auto node = begin_node(self.runtime(), name, {self});
  TensorList parts;
  std::int64_t skipped = 0;
  for (const auto size : sizes) {
    Dims shape = self.sizes();
    shape[dim] = size;
    parts.push_back(make_view(self, shape, self.strides(), skipped));
    skipped += size * self.strides()[dim];
  }
  if (node) {
    node->backward = cat_back(parts, dim);
    for (const auto& part : parts) {
      node->add_output(part);
    }
  }
  return parts;
}

}  // namespace

Tensor view(const Tensor& self, const Dims& sizes) {
  const Dims shape = infer_size(sizes, self.numel());
  const auto strides = view_strides(self.sizes(), self.strides(), shape);
  return differentiable_view("ViewBackward0", self, shape,
                             strides ? *strides : contiguous_strides(shape), reshape_back(self));
}

Tensor reshape(const Tensor& self, const Dims& sizes) {
  const Dims shape = infer_size(sizes, self.numel());
  const auto strides = view_strides(self.sizes(), self.strides(), shape);
  if (strides) {
    return differentiable_view("ReshapeAliasBackward0", self, shape, *strides, reshape_back(self));
  }
  return unsafe_view(clone_contiguous(self), shape);
}

Tensor unsafe_view(const Tensor& self, const Dims& sizes) {
  const auto node = begin_node(self.runtime(), "UnsafeViewBackward0", {self});
  const Dims shape = infer_size(sizes, self.numel());
  Tensor result = alias(self);  // not a view to autograd: holds no base
  result->sizes = shape;
  result->strides = *view_strides(self.sizes(), self.strides(), shape);
  finish_node(node, result, reshape_back(self));
  return result;
}

Tensor flatten(const Tensor& self, std::int64_t start, std::int64_t end) {
  const auto first = wrap(start, self.dim());
  const auto last = wrap(end, self.dim());
  if (first == last) {
    return self;
  }
  Dims sizes(self.sizes().begin(), self.sizes().begin() + static_cast<std::ptrdiff_t>(first));
  std::int64_t product = 1;
  for (std::size_t i = first; i <= last; ++i) {
    product *= self.sizes()[i];
  }
  sizes.push_back(product);
  sizes.insert(sizes.end(), self.sizes().begin() + static_cast<std::ptrdiff_t>(last) + 1,
               self.sizes().end());
  return reshape(self, sizes);
}

Tensor t(const Tensor& self) {
  if (self.dim() < 2) {
    return self;
  }
  return differentiable_view("TBackward0", self, {self.sizes()[1], self.sizes()[0]},
                             {self.strides()[1], self.strides()[0]},
                             [](Node&, TensorList& grads) { return TensorList{t(grads[0])}; });
}

Tensor transpose(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  const auto a = wrap(dim0, self.dim());
  const auto b = wrap(dim1, self.dim());
  Dims sizes = self.sizes();
  Dims strides = self.strides();
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  return differentiable_view("TransposeBackward0", self, sizes, strides,
                             [dim0, dim1](Node&, TensorList& grads) {
                               return TensorList{transpose(grads[0], dim0, dim1)};
                             });
}

Tensor permute(const Tensor& self, const Dims& order) {
  Dims sizes;
  Dims strides;
  Dims inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto from = wrap(order[i], self.dim());
    sizes.push_back(self.sizes()[from]);
    strides.push_back(self.strides()[from]);
    inverse[from] = static_cast<std::int64_t>(i);
  }
  return differentiable_view(
      "PermuteBackward0", self, sizes, strides,
      [inverse](Node&, TensorList& grads) { return TensorList{permute(grads[0], inverse)}; });
}

Tensor expand(const Tensor& self, const Dims& sizes) {
  Dims shape = sizes;
  Dims strides(sizes.size(), 0);
  const auto missing = sizes.size() - self.dim();
  for (std::size_t i = 0; i < self.dim(); ++i) {
    if (shape[missing + i] == -1) {
      shape[missing + i] = self.sizes()[i];
    }
    const bool kept = self.sizes()[i] == shape[missing + i];
    strides[missing + i] = kept ? self.strides()[i] : 0;
  }
  // New leading dimensions of size 1 get the stride a contiguous tensor would have.
  for (std::size_t i = missing; i-- > 0;) {
    strides[i] = shape[i] == 1 && i + 1 < shape.size() ? shape[i + 1] * strides[i + 1] : 0;
  }
  return differentiable_view(
      "ExpandBackward0", self, shape, strides,
      [own = self.sizes()](Node&, TensorList& grads) { return TensorList{sum_to(grads[0], own)}; });
}

Tensor unsqueeze(const Tensor& self, std::int64_t dim) {
  const auto at = wrap(dim, self.dim() + 1);
  const std::int64_t stride =
      at < self.dim() ? self.sizes()[at] * self.strides()[at] : std::int64_t{1};
  return differentiable_view("UnsqueezeBackward0", self, with(self.sizes(), at, 1),
                             with(self.strides(), at, stride), [at](Node&, TensorList& grads) {
                               return TensorList{squeeze(grads[0], static_cast<std::int64_t>(at))};
                             });
}

Tensor squeeze(const Tensor& self, std::int64_t dim) {
  const auto at = wrap(dim, self.dim());
  if (self.sizes()[at] != 1) {
    return differentiable_view("SqueezeBackward1", self, self.sizes(), self.strides(),
                               [](Node&, TensorList& grads) { return TensorList{grads[0]}; });
  }
  return differentiable_view(
      "SqueezeBackward1", self, without(self.sizes(), at), without(self.strides(), at),
      [at](Node&, TensorList& grads) {
        return TensorList{unsqueeze(grads[0], static_cast<std::int64_t>(at))};
      });
}

/// From here on the gradient of a slice that is the whole is passed on, without zeros to fill.
constexpr Release kPassesWholeSlices{2, 10};

Tensor slice(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t end,
             std::int64_t step) {
  const auto at = wrap(dim, self.dim());
  const auto size = self.sizes()[at];
  const auto clip = [size](std::int64_t value) {
    return std::clamp(value < 0 ? value + size : value, std::int64_t{0}, size);
  };
  Dims shape = self.sizes();
  Dims strides = self.strides();
  shape[at] = (std::max<std::int64_t>(clip(end) - clip(start), 0) + step - 1) / step;
  strides[at] *= step;
  const bool passes_on = shape[at] == size && self.runtime().torch >= kPassesWholeSlices;
  return differentiable_view(
      "SliceBackward0", self, shape, strides,
      [own = self.sizes(), at, passes_on](Node&, TensorList& grads) {
        return passes_on ? TensorList{grads[0]}
                         : TensorList{zeros_for("slice_backward", grads[0], own, at)};
      },
      clip(start) * self.strides()[at]);
}

Tensor select(const Tensor& self, std::int64_t dim, std::int64_t index) {
  const auto at = wrap(dim, self.dim());
  const auto row = index < 0 ? index + self.sizes()[at] : index;
  return differentiable_view(
      "SelectBackward0", self, without(self.sizes(), at), without(self.strides(), at),
      [own = self.sizes(), at](Node&, TensorList& grads) {
        return TensorList{zeros_for("select_backward", grads[0], own, at)};
      },
      row * self.strides()[at]);
}

TensorList split_with_sizes(const Tensor& self, const Dims& sizes, std::int64_t dim) {
  return views_of_parts("SplitWithSizesBackward0", self, {sizes.data(), sizes.size()},
                        wrap(dim, self.dim()));
}

TensorList split_rows(const Tensor& self, std::span<const std::int64_t> lengths) {
  return views_of_parts("SplitWithSizesBackward0", self, lengths, 0);
}

TensorList split(const Tensor& self, std::int64_t size, std::int64_t dim) {
  const auto at = wrap(dim, self.dim());
  boost::container::small_vector<std::int64_t, 8> sizes;
  for (std::int64_t rest = self.sizes()[at]; rest > 0; rest -= size) {
    sizes.push_back(std::min(size, rest));
  }
  return views_of_parts("SplitBackward0", self, {sizes.data(), sizes.size()}, at);
}

TensorList chunk(const Tensor& self, std::int64_t chunks, std::int64_t dim) {
  return split(self, (self.size(dim) + chunks - 1) / chunks, dim);
}

// Two numbers are one element: strides and offset count pairs.
Tensor view_as_complex(const Tensor& self) {
  const auto node = begin_node(self.runtime(), "ViewAsComplexBackward0", {self});
  Dims sizes = self.sizes();
  Dims strides = self.strides();
  sizes.pop_back();
  strides.pop_back();
  std::ranges::transform(strides, strides.begin(), [](std::int64_t stride) { return stride / 2; });
  Tensor result = make_view(self, sizes, strides);
  result->dtype = DType::complex64;
  result->offset /= 2;
  finish_node(node, result, [](Node&, TensorList& grads) {
    return TensorList{view_as_real(contiguous(grads[0]))};
  });
  return result;
}

Tensor view_as_real(const Tensor& self) {
  const auto node = begin_node(self.runtime(), "ViewAsRealBackward0", {self});
  Dims sizes = self.sizes();
  Dims strides = self.strides();
  std::ranges::transform(strides, strides.begin(), [](std::int64_t stride) { return stride * 2; });
  sizes.push_back(2);
  strides.push_back(1);
  Tensor result = make_view(self, sizes, strides);
  result->dtype = DType::fp32;
  result->offset *= 2;
  finish_node(node, result, [](Node&, TensorList& grads) {
    return TensorList{view_as_complex(contiguous(grads[0]))};
  });
  return result;
}

TensorList unbind(const Tensor& self, std::int64_t dim) {
  const auto at = wrap(dim, self.dim());
  const auto node = begin_node(self.runtime(), "UnbindBackward0", {self});
  TensorList parts;
  for (std::int64_t i = 0; i < self.sizes()[at]; ++i) {
    parts.push_back(make_view(self, without(self.sizes(), at), without(self.strides(), at),
                              i * self.strides()[at]));
  }
  if (node) {
    node->backward = [at, shape = parts[0].sizes()](Node& own, TensorList& grads) {
      TensorList all = grads;
      const auto known = std::ranges::find_if(grads, [](const Tensor& g) { return g.defined(); });
      for (auto& grad : all) {
        if (!grad.defined()) {
          OpScope scope(*own.runtime, "zeros");
          grad = empty(*own.runtime, shape, known->dtype());
        }
      }
      return TensorList{stack({all.data(), all.size()}, static_cast<std::int64_t>(at))};
    };
    for (const auto& part : parts) {
      node->add_output(part);
    }
  }
  return parts;
}

}  // namespace highwater::eager
