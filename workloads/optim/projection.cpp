#include "workloads/optim/projection.hpp"

#include "workloads/eager/ops.hpp"
#include "workloads/optim/expressions.hpp"
#include "workloads/optim/linear_algebra.hpp"

namespace highwater::optim {

namespace {

constexpr int kProjectionGap = 200;  // update_proj_gap

bool is_tall(const Tensor& matrix) {
  return matrix.size(0) >= matrix.size(1);
}

Tensor matrix_diag(const Tensor& values) {
  return zeros(values, {values.size(0), values.size(0)}, values.dtype());
}

Tensor projected(const Tensor& grad, const Tensor& projection) {
  return is_tall(grad) ? eager::mm(grad, eager::t(projection))
                       : eager::mm(eager::t(projection), grad);
}

}  // namespace

// The projection of an fp32 matrix is a view of the whole
// factor.
Tensor singular_vectors(const Tensor& grad, std::int64_t rank) {
  Tensor matrix = cast(grad, DType::fp32);
  Svd svd = thin_svd(matrix);
  Tensor left = eager::slice(svd.u, 1, 0, rank);
  Tensor right = eager::slice(svd.vh, 0, 0, rank);
  Tensor weighted = matrix_diag(eager::slice(svd.s, 0, 0, rank));
  Tensor product = is_tall(grad) ? eager::mm(left, weighted) : eager::mm(weighted, right);
  weighted.reset();
  Tensor result = cast(is_tall(grad) ? right : left, grad.dtype());
  eager::end_of_frame(left, right, matrix, svd.u, svd.s, svd.vh, product);
  return result;
}

Tensor random_projection(const Tensor& grad, std::int64_t rank) {
  const Tensor matrix = cast(grad, DType::fp32);
  const Dims sizes = is_tall(grad) ? Dims{rank, grad.size(1)} : Dims{grad.size(0), rank};
  Tensor random = zeros(grad, sizes, DType::fp32);
  const Tensor projection = unary("div", std::move(random));
  return cast(projection, grad.dtype());
}

// Steps are counted from 0. The old projection is freed once the new one exists.
Tensor project(const Update& update, Tensor& projection, const Tensor& grad, MakeProjection make) {
  if ((update.step - 1) % kProjectionGap == 0 || !projection.defined()) {
    Tensor made = make(grad, update.choice->rank);
    made.runtime().categorize(made, Category::optimizer_state);
    projection = std::move(made);
  }
  return projected(grad, projection);
}

// The product is a variable, which lives until its multiple exists.
Tensor projected_back(const Tensor& low_rank, const Tensor& projection) {
  const Tensor product =
      is_tall(low_rank) ? eager::mm(low_rank, projection) : eager::mm(projection, low_rank);
  return unary("mul", product);
}

}  // namespace highwater::optim
