// Operators that write into their first operand: no result block, but nodes and saved tensors like
// their ordinary forms. An operand whose old value is needed by backward is cloned first
// (tools/autograd/gen_variable_type.py of PyTorch 2.6: original_self).
#include <utility>

#include "workloads/eager/formulas.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

// rebase_history: the tensor is now the result of `node`.
Tensor rebase(const Ref<Node>& node, const Tensor& self, BackwardFunction backward) {
  if (node) {
    self->requires_grad = false;
    self->output_nr = 0;
  }
  finish_node(node, self, std::move(backward));
  return self;
}

// as_strided of all of `base`, whose gradient is a block of its own (as_strided_backward).
Tensor view_anew(const Tensor& base) {
  const auto node = begin_node(base.runtime(), "AsStridedBackward0", {base});
  Tensor result = alias(base);
  finish_node(node, result,
              [](Node&, TensorList& grads) { return TensorList{empty_like(grads[0])}; });
  return result;
}

// A copy that backward reads instead of the overwritten tensor.
Tensor clone_unrecorded(const Tensor& self) {
  NoGrad no_grad(self.runtime());
  return clone(self);
}

}  // namespace

Tensor add_(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "AddBackward0", {self, other});
  return rebase(node, self, add_backward());
}

// CopySlices around AddBackward0: the gradient of the whole is copied, then that of the view. The
// view gets a history of its own (torch/csrc/autograd/variable.cpp grad_fn()).
Tensor add_to_view_(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "CopySlices", {self, other});
  return view_anew(rebase(node, self, [addend = other.sizes()](Node& own, TensorList& grads) {
    TensorList out(2);
    Tensor whole = empty_like(grads[0]);
    const Tensor part = clone(whole);
    out[1] = own.needs(1) ? sum_to(part, addend) : Tensor{};
    out[0] = std::move(whole);
    return out;
  }));
}

Tensor mul_(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "MulBackward0", {self, other});
  if (node) {
    node->save(other);
  }
  return rebase(node, self, [](Node& own, TensorList& grads) {
    const Tensor factor = own.unpack(0);
    TensorList out(2);
    out[0] = pointwise("mul", {grads[0], factor}, promote(grads[0], factor));
    return out;
  });
}

Tensor div_(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "DivBackward0", {self, other});
  if (node) {
    node->save(other);
    node->save(other.requires_grad() ? clone_unrecorded(self) : Tensor{});
  }
  return rebase(node, self, div_backward());
}

Tensor div_(const Tensor& self, double /*scalar*/) {
  const auto node = begin_node(self.runtime(), "DivBackward0", {self});
  return rebase(node, self, [](Node&, TensorList& grads) {
    return TensorList{pointwise("div", {grads[0]}, grads[0].dtype())};
  });
}

// CopySlices around CopyBackwards (torch/csrc/autograd/functions/tensor.cpp): the gradient of the
// whole is copied, then that of the part, which what was there before gets as zeros.
Tensor copy_into_columns_(const Tensor& self, std::int64_t start, const Tensor& source) {
  const auto node = begin_node(self.runtime(), "CopySlices", {self, source});
  return rebase(
      node, self,
      [start, end = start + source.size(-1), dtype = source.dtype()](Node& own, TensorList& grads) {
        Runtime& runtime = *own.runtime;
        TensorList out(2);
        Tensor whole = empty(runtime, grads[0].sizes(), grads[0].dtype());
        const Tensor part = clone_contiguous(slice(whole, -1, start, end));
        const Tensor zeros = own.needs(0) ? empty_like(part) : Tensor{};
        out[1] = own.needs(1) ? to_dtype(part, dtype) : Tensor{};
        out[0] = own.needs(0) ? std::move(whole) : Tensor{};
        return out;
      });
}

Tensor masked_fill_(const Tensor& self, const Tensor& mask) {
  const auto node = begin_node(self.runtime(), "MaskedFillBackward0", {self});
  if (node) {
    node->save(mask);
  }
  return rebase(node, self, [](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    return TensorList{pointwise("masked_fill", {grads[0], kept}, grads[0].dtype())};
  });
}

// The slice is a view, so a CopySlices goes around IndexPutBackward0: the gradient of the whole is
// copied, then that of the view, which index_put copies once more.
Tensor fill_rows_(const Tensor& self, const Tensor& mask) {
  const auto node = begin_node(self.runtime(), "CopySlices", {self});
  if (node) {
    node->save(mask);
  }
  return rebase(node, self, [](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    Tensor whole = empty_like(grads[0]);
    Tensor part = clone(whole);
    Tensor filled = pointwise("index_put", {part}, part.dtype());
    end_of_frame(part, filled);
    return TensorList{whole};
  });
}

}  // namespace highwater::eager
