// Python's expressions over tensors. An operand that nothing else holds is freed once the result
// exists, the first one first, as CPython's interpreter does it; a variable that is assigned to
// frees its old value after that (Tensor's assignment does).
#pragma once

#include <array>

#include "workloads/optim/tensor_vector.hpp"

namespace highwater::optim {

/// The variables of a Python frame that hold tensors, by their first assignment, in which order
/// the frame lets go of them when it ends.
class Frame {
 public:
  Frame() = default;
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  ~Frame() {
    for (Tensor& variable : variables_) {
      variable.reset();
    }
  }

  Tensor& operator[](std::size_t index) { return variables_[index]; }

 private:
  std::array<Tensor, 8> variables_;
};

/// An elementwise operator that gives a tensor like `a`.
Tensor unary(const char* op, Tensor a);

/// One with two operands; the type is the one that PyTorch promotes to.
Tensor binary(const char* op, Tensor a, Tensor b);

/// a.to(dtype): the tensor itself if it has the type.
Tensor cast(Tensor a, DType dtype);

/// tensor.norm(), and torch.norm(tensor, dim=dim).
Tensor norm(Tensor a);
Tensor norm(const Tensor& a, std::int64_t dim);

/// a.mean(dim, keepdim)
Tensor mean_over(const Tensor& a, std::int64_t dim, eager::KeepDim keepdim = eager::KeepDim::no);

/// zeros_like(like) and its kin in `dtype`, on `like`'s device.
Tensor zeros(const Tensor& like, const Dims& sizes, DType dtype);

}  // namespace highwater::optim
