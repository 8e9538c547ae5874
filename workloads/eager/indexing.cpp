// Advanced indexing, gathering, sorting and selecting (ATen/native/TensorAdvancedIndexing.cpp,
// cuda/Indexing.cu, Sorting.cpp, cuda/Nonzero.cu; gradients in derivatives.yaml of PyTorch 2.6).
//
// What a kernel selects is unknown, so the number of elements that nonzero() finds is a parameter.
#include <algorithm>
#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/run_script.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/embedding.hpp"

namespace highwater::eager {

namespace {

constexpr std::int64_t kIndexBytes = 8;
constexpr std::size_t kLinearIndexSteps = 3;  ///< of index_put_accumulate: wrap, scale, drop

Dims indexed_sizes(const Tensor& self, const Tensor& indices, std::size_t dims) {
  Dims sizes = indices.sizes();
  sizes.insert(sizes.end(), self.sizes().begin() + static_cast<std::ptrdiff_t>(dims),
               self.sizes().end());
  return sizes;
}

// computeLinearIndex: each index tensor is wrapped, then scaled by its stride and added.
void add_second_index(Runtime& runtime, std::int64_t count) {
  auto wrapped = runtime.allocate(count * kIndexBytes);
  const auto scaled = runtime.allocate(count * kIndexBytes);
  wrapped.reset();
}

// index_put_with_sort_kernel over the first `dims` dimensions, which have `rows` places.
void put_with_sort(const Tensor& grad, std::int64_t count, std::int64_t rows, std::size_t dims) {
  Runtime& runtime = grad.runtime();
  const auto script = index_put_accumulate(runtime.gpu, count, rows);
  ScriptBlocks blocks;
  for (std::size_t i = 0; i < kLinearIndexSteps; ++i) {
    run_step(runtime, script[i], blocks);
  }
  if (dims == 2) {
    add_second_index(runtime, count);
  }
  const Tensor values = contiguous(grad);
  for (std::size_t i = kLinearIndexSteps; i + 1 < script.size(); ++i) {
    run_step(runtime, script[i], blocks);
  }
}

/// Generated functions unpack all that was saved before they compute (Functions.cpp), into
/// variables that C++ destroys from the last to the first.
class Unpacked {
 public:
  explicit Unpacked(const Node& node) {
    for (std::size_t i = 0; i < node.saved.size(); ++i) {
      tensors_.push_back(node.unpack(i));
    }
  }

  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  ~Unpacked() { release_list(tensors_); }

  [[nodiscard]] const Tensor& first() const { return tensors_.front(); }

 private:
  TensorList tensors_;
};

// index_backward: zeros, into which the gradient is added.
BackwardFunction index_backward(const Tensor& self, std::size_t dims) {
  return [sizes = self.sizes(), dims](Node& node, TensorList& grads) {
    Runtime& runtime = *node.runtime;
    const Unpacked kept(node);
    const Tensor& indices = kept.first();
    OpScope op(runtime, "_index_put_impl_");
    TensorList out{empty(runtime, sizes, grads[0].dtype())};
    const Dims places(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(dims));
    if (grads[0].numel() > 0) {
      put_with_sort(grads[0], indices.numel(), element_count(places), dims);
    }
    return out;
  };
}

Tensor indexed(const Ref<Node>& node, const Tensor& self, const Tensor& indices, std::size_t dims) {
  OpScope op(self.runtime(), "index");
  Tensor result = empty(self.runtime(), indexed_sizes(self, indices, dims), self.dtype());
  finish_node(node, result, index_backward(self, dims));
  return result;
}

// Zeros of the operand's shape, into which a kernel scatters the gradient.
BackwardFunction scatter_back(const char* op, const Tensor& self) {
  return [op, sizes = self.sizes()](Node& node, TensorList& grads) {
    const Unpacked kept(node);
    OpScope scope(*node.runtime, op);
    return TensorList{empty(*node.runtime, sizes, grads[0].dtype())};
  };
}

Selected selected(const Ref<Node>& node, const Tensor& self, Selected result) {
  finish_node(node, result.values, scatter_back("value_selecting_reduction_backward", self));
  if (node) {
    node->save_output(result.indices);
  }
  return result;
}

}  // namespace

Tensor index(const Tensor& self, const Tensor& indices) {
  const auto node = begin_node(self.runtime(), "IndexBackward0", {self});
  if (node) {
    node->save(indices);
  }
  return indexed(node, self, indices, 1);
}

Tensor index(const Tensor& self, const Tensor& rows, const Tensor& columns) {
  const auto node = begin_node(self.runtime(), "IndexBackward0", {self});
  if (node) {
    node->save(rows);
    node->save(columns);
  }
  return indexed(node, self, rows, 2);
}

// The indexed dimension comes first within the kernels (transposeToFront).
Tensor index_at(const Tensor& self, std::int64_t dim, const Tensor& indices) {
  Runtime& runtime = self.runtime();
  const auto node = begin_node(runtime, "IndexBackward0", {self});
  if (node) {
    node->save(indices);
  }
  OpScope op(runtime, "index");
  const auto at = wrap(dim, self.dim());
  Dims sizes = self.sizes();
  sizes[at] = indices.numel();
  Tensor result = empty(runtime, sizes, self.dtype());
  finish_node(node, result, [sizes = self.sizes(), at](Node& own, TensorList& grads) {
    const Unpacked kept(own);
    OpScope put(*own.runtime, "_index_put_impl_");
    TensorList out{empty(*own.runtime, sizes, grads[0].dtype())};
    put_with_sort(grads[0], kept.first().numel(), sizes[at], 1);
    return out;
  });
  return result;
}

// expandTensors: the places of a mask's elements take its place in the kernel, here and in the
// backward, which keeps the mask.
Tensor index_by_mask(const Tensor& self, const Tensor& mask) {
  Runtime& runtime = self.runtime();
  const auto node = begin_node(runtime, "IndexBackward0", {self});
  if (node) {
    node->save(mask);
  }
  OpScope op(runtime, "index");
  const Tensor places = nonzero(mask, mask.numel());
  Dims sizes{mask.numel()};
  sizes.insert(sizes.end(), self.sizes().begin() + static_cast<std::ptrdiff_t>(mask.dim()),
               self.sizes().end());
  Tensor result = empty(runtime, sizes, self.dtype());
  finish_node(node, result, [sizes = self.sizes()](Node& own, TensorList& grads) {
    const Unpacked kept(own);
    OpScope put(*own.runtime, "_index_put_impl_");
    TensorList out{empty(*own.runtime, sizes, grads[0].dtype())};
    const Tensor& hidden = kept.first();
    const Tensor found = nonzero(hidden, hidden.numel());
    put_with_sort(grads[0], hidden.numel(), hidden.numel(), hidden.dim());
    return out;
  });
  return result;
}

// The gradient of the source: the elements that the mask takes.
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  Runtime& runtime = self.runtime();
  const auto node = begin_node(runtime, "MaskedScatterBackward0", {source});
  if (node) {
    node->save(mask);
  }
  OpScope op(runtime, "masked_scatter");
  Tensor result = clone_contiguous(self);
  { const Tensor prefix_sums = empty(runtime, mask.sizes(), DType::int64); }
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Unpacked kept(own);
    OpScope select(*own.runtime, "masked_select");
    const Tensor& taken = kept.first();
    const Tensor places = nonzero(taken, taken.numel());
    return TensorList{empty(*own.runtime, {taken.numel()}, grads[0].dtype())};
  });
  return result;
}

Tensor index_pair(const Tensor& self, const Tensor& rows, const Tensor& columns) {
  OpScope op(self.runtime(), "index");
  return empty(self.runtime(), broadcast(rows.sizes(), columns.sizes()), self.dtype());
}

Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& indices) {
  const auto node = begin_node(self.runtime(), "IndexSelectBackward0", {self});
  if (node) {
    node->save(indices);
  }
  OpScope op(self.runtime(), "index_select");
  Dims sizes = self.sizes();
  sizes[wrap(dim, self.dim())] = indices.numel();
  Tensor result = empty(self.runtime(), sizes, self.dtype());
  finish_node(node, result, scatter_back("index_select_backward", self));
  return result;
}

Tensor index_add_(const Tensor& self, std::int64_t dim, const Tensor& indices,
                  const Tensor& source) {
  const auto node = begin_node(self.runtime(), "IndexAddBackward0", {self, source});
  if (node) {
    node->save(indices);
    node->save(source);  // for its shape
    self->requires_grad = false;
  }
  finish_node(node, self, [dim](Node& own, TensorList& grads) {
    const Unpacked kept(own);
    TensorList out(2);
    if (own.needs(1)) {
      out[1] = index_select(grads[0], dim, kept.first());
    }
    if (own.needs(0)) {
      out[0] = grads[0];
    }
    return out;
  });
  return self;
}

// The gradient needs only the shape of `self`, but the node keeps all of it.
Tensor gather(const Tensor& self, std::int64_t /*dim*/, const Tensor& indices) {
  const auto node = begin_node(self.runtime(), "GatherBackward0", {self});
  if (node) {
    node->save(indices);
    node->save(self);
  }
  OpScope op(self.runtime(), "gather");
  Tensor result = empty(self.runtime(), indices.sizes(), self.dtype());
  finish_node(node, result, scatter_back("gather_backward", self));
  return result;
}

Tensor scatter_(const Tensor& self, std::int64_t /*dim*/, const Tensor& /*indices*/) {
  return self;
}

// self.repeat(): the copies are written into a new tensor; the gradient's parts are summed
// (repeat_backward).
Tensor repeat(const Tensor& self, const Dims& repeats) {
  const auto node = begin_node(self.runtime(), "RepeatBackward0", {self});
  OpScope op(self.runtime(), "repeat");
  Dims sizes;
  Dims parts;
  Dims summed;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t size = self.sizes()[i];
    sizes.push_back(size * repeats[i]);
    if (repeats[i] != 1) {
      summed.push_back(static_cast<std::int64_t>(parts.size()));
      parts.push_back(repeats[i]);
    }
    parts.push_back(size);
  }
  Tensor result = empty(self.runtime(), sizes, self.dtype());
  finish_node(node, result, [parts, summed](Node&, TensorList& grads) {
    return TensorList{sum(reshape(grads[0], parts), summed, KeepDim::no)};
  });
  return result;
}

// Composite: the copies are made by expanding and cloning, so the gradient is a sum.
Tensor repeat_interleave(const Tensor& self, std::int64_t repeats, std::int64_t dim) {
  const auto at = wrap(dim, self.dim());
  Dims sizes = self.sizes();
  const auto next = static_cast<std::int64_t>(at) + 1;
  sizes.insert(sizes.begin() + next, repeats);
  const Tensor copies = clone_contiguous(expand(unsqueeze(self, next), sizes));
  return flatten(copies, next - 1, next);
}

Selected topk(const Tensor& self, std::int64_t k, std::int64_t dim) {
  Runtime& runtime = self.runtime();
  const auto node = begin_node(runtime, "TopkBackward0", {self});
  OpScope op(runtime, "topk");
  Dims sizes = self.sizes();
  sizes[wrap(dim, self.dim())] = k;
  Tensor values = empty(runtime, sizes, self.dtype());
  Tensor indices = empty(runtime, sizes, DType::int64);
  return selected(node, self, {std::move(values), std::move(indices)});
}

Selected max(const Tensor& self, std::int64_t dim, KeepDim keepdim) {
  Runtime& runtime = self.runtime();
  const auto node = begin_node(runtime, "MaxBackward0", {self});
  OpScope op(runtime, "max");
  Dims sizes = self.sizes();
  const auto at = wrap(dim, self.dim());
  sizes[at] = 1;
  if (keepdim == KeepDim::no) {
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  Tensor values = empty(runtime, sizes, self.dtype());
  Tensor indices = empty(runtime, sizes, DType::int64);
  return selected(node, self, {std::move(values), std::move(indices)});
}

Selected sort(const Tensor& self, std::int64_t dim) {
  Runtime& runtime = self.runtime();
  const auto node = begin_node(runtime, "SortBackward0", {self});
  OpScope op(runtime, "sort");
  if (self.dim() == 1 && self.dtype() == DType::int64) {
    const auto left = run_script(runtime, sort_int64(runtime.gpu, self.numel()));
    return {tensor_on(left[0], self.sizes(), DType::int64),
            tensor_on(left[1], self.sizes(), DType::int64)};
  }
  Tensor values = empty_like(self);
  Tensor indices = empty_like(self, DType::int64);
  runtime.allocate(self.size(dim) * kIndexBytes);
  return selected(node, self, {std::move(values), std::move(indices)});
}

Tensor argsort(const Tensor& self, std::int64_t dim) {
  return sort(self, dim).indices;
}

Tensor one_hot(const Tensor& self, std::int64_t classes) {
  OpScope op(self.runtime(), "one_hot");
  Dims sizes = self.sizes();
  sizes.push_back(classes);
  return empty(self.runtime(), sizes, DType::int64);
}

// The result is allocated once its size is known: between the storage of the count and that of the
// selection.
Tensor nonzero(const Tensor& self, std::int64_t found) {
  Runtime& runtime = self.runtime();
  OpScope op(runtime, "nonzero");
  NoGrad no_grad(runtime);
  const auto dims = static_cast<std::int64_t>(self.dim());
  const Tensor input = contiguous(self);
  const auto script = highwater::nonzero(runtime.gpu, input.numel(), runtime.torch);
  constexpr std::size_t kCountSteps = 3;
  Tensor result;
  ScriptBlocks blocks;
  for (std::size_t i = 0; i < script.size(); ++i) {
    if (i == kCountSteps) {
      runtime.synchronize();  // the host reads the count
      result = empty_strided(runtime, {found, dims}, {1, std::max<std::int64_t>(found, 1)},
                             DType::int64);
    }
    run_step(runtime, script[i], blocks);
  }
  return result;
}

TensorList where(const Tensor& condition, std::int64_t found) {
  return unbind(nonzero(condition, found), 1);
}

}  // namespace highwater::eager
