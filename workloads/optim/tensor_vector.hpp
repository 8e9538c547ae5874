// Lists of tensors as PyTorch's Python code holds them, and the operators that work on whole lists.
//
// CPython releases the items of a list or tuple from the last to the first; the order of frees
// after every multi-tensor operator follows from that (seen in the recordings).
#pragma once

#include <span>
#include <vector>

#include "workloads/eager/runtime.hpp"
#include "workloads/eager/tensor.hpp"

namespace highwater::optim {

using eager::Dims;
using eager::Runtime;
using eager::Tensor;

/// A Python list or tuple of tensors.
class TensorVector {
 public:
  TensorVector() = default;
  TensorVector(TensorVector&&) = default;
  TensorVector(const TensorVector&) = delete;

  /// Rebinds the variable: its old value is released after the new one was created.
  TensorVector& operator=(TensorVector other) noexcept {
    items_.swap(other.items_);
    return *this;
  }

  ~TensorVector() { clear(); }

  void push_back(Tensor tensor) { items_.push_back(std::move(tensor)); }

  void clear() { eager::release_list(items_); }

  [[nodiscard]] std::size_t size() const { return items_.size(); }

  [[nodiscard]] auto begin() const { return items_.begin(); }

  [[nodiscard]] auto end() const { return items_.end(); }

  const Tensor& operator[](std::size_t index) const { return items_[index]; }

 private:
  std::vector<Tensor> items_;
};

/// A tensor of `like`'s shape made by operator `op` (zeros_like, sqrt, clone, ...).
Tensor make_like(const char* op, const Tensor& like);
Tensor make_like(const char* op, const Tensor& like, DType dtype);

/// torch.linalg.vector_norm(self, 2) over `dims`, all of them if empty.
Tensor vector_norm(const Tensor& self, const Dims& dims, eager::KeepDim keepdim);

/// torch._foreach_norm: one 0-dimensional tensor for each one of `tensors`, which share a dtype.
/// Before PyTorch 2.3 they are views of one vector (ATen/native/cuda/ForeachReduceOp.cu).
TensorVector foreach_norm(Runtime& runtime, std::span<const Tensor> tensors);

/// The dtypes among `tensors` in the order of _group_tensors_by_device_and_dtype: a
/// std::unordered_map of few keys, in which libstdc++ puts each new key in front.
std::vector<DType> dtype_groups(std::span<const Tensor> tensors);

}  // namespace highwater::optim
