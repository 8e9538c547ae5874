#include "workloads/megatron/data_parallel/muon.hpp"

#include "workloads/eager/ops.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::megatron {
namespace {

using eager::Tensor;

// torch.nn.functional.normalize over both dimensions
Tensor normalized(const Tensor& matrix) {
  Tensor norm = optim::vector_norm(matrix, {0, 1}, true);
  const Tensor denominator = optim::unary("clamp_min", std::move(norm));
  return eager::pointwise("div", {matrix, denominator}, DType::fp32);
}

// newton_schulz_step
Tensor iterated(const Tensor& matrix) {
  Tensor gram = eager::mm(matrix, eager::t(matrix));
  Tensor polynomial = eager::addmm(gram, gram, gram);
  Tensor result = eager::addmm(matrix, polynomial, matrix);
  eager::end_of_frame(gram, polynomial);
  return result;
}

// newton_schulz
Tensor newton_schulz(const Tensor& given) {
  constexpr int kIterations = 5;  // muon_num_ns_steps
  const bool is_tall = given.size(0) > given.size(1);
  Tensor matrix = normalized(is_tall ? eager::t(given) : given);
  matrix = optim::make_like("to", matrix, DType::bf16);
  for (int i = 0; i < kIterations; ++i) {
    matrix = iterated(matrix);
  }
  matrix = optim::make_like("to", matrix, DType::fp32);
  return is_tall ? eager::t(matrix) : matrix;
}

// scaled_orthogonalize_fn: orth_grad * scale_factor * extra_scale_factor
Tensor scaled(const Tensor& matrix) {
  const Tensor orthogonal = newton_schulz(matrix);
  return optim::unary("mul", optim::unary("mul", orthogonal));
}

// Rows of each group, put together (reshape).
std::vector<Tensor> split_rows(const Tensor& momentum, const QkvSplit& split) {
  const std::int64_t columns = momentum.size(1);
  const std::int64_t all = split.rows[0] + split.rows[1] + split.rows[2];
  const Tensor groups = eager::view(momentum, {split.groups, all, columns});
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t rows : split.rows) {
    parts.push_back(eager::reshape(eager::slice(groups, 1, start, start + rows),
                                   {split.groups * rows, columns}));
    start += rows;
  }
  return parts;
}

}  // namespace

Tensor orthogonalized(const Tensor& momentum, const QkvSplit* split) {
  if (split == nullptr) {
    return scaled(momentum);
  }
  const std::int64_t columns = momentum.size(1);
  std::vector<Tensor> parts = split_rows(momentum, *split);
  std::vector<Tensor> updates;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    updates.push_back(eager::view(scaled(parts[i]), {split->groups, split->rows[i], columns}));
  }
  eager::release_list(parts);
  Tensor whole = eager::view(eager::cat(updates, 1), momentum.sizes());
  eager::release_list(updates);
  return whole;
}

}  // namespace highwater::megatron
