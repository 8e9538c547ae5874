#include "workloads/optim/expressions.hpp"

#include "workloads/eager/ops.hpp"

namespace highwater::optim {

Tensor unary(const char* op, Tensor a) {
  Tensor result = make_like(op, a);
  a.reset();
  return result;
}

Tensor binary(const char* op, Tensor a, Tensor b) {
  Tensor result = eager::pointwise(op, {a, b}, eager::promote(a, b));
  eager::end_of_frame(a, b);
  return result;
}

Tensor cast(Tensor a, DType dtype) {
  return a.dtype() == dtype ? a : make_like("to", a, dtype);
}

Tensor norm(Tensor a) {
  Tensor result = vector_norm(a, {}, eager::KeepDim::no);
  a.reset();
  return result;
}

Tensor norm(const Tensor& a, std::int64_t dim) {
  return vector_norm(a, {dim}, eager::KeepDim::no);
}

Tensor mean_over(const Tensor& a, std::int64_t dim, eager::KeepDim keepdim) {
  return eager::mean(a, dim, keepdim);
}

Tensor zeros(const Tensor& like, const Dims& sizes, DType dtype) {
  const eager::OpScope scope(like.runtime(), "zeros");
  return eager::empty_on(like.runtime(), like.place(), sizes, dtype);
}

}  // namespace highwater::optim
