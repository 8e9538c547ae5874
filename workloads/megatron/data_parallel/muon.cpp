#include "workloads/megatron/data_parallel/muon.hpp"

#include "workloads/eager/ops.hpp"
#include "workloads/optim/expressions.hpp"
#include "workloads/plan/megatron_options.hpp"

namespace highwater::megatron {
namespace {

using eager::Tensor;

// torch.nn.functional.normalize over both dimensions
Tensor normalized(const Tensor& matrix) {
  Tensor norm = optim::vector_norm(matrix, {0, 1}, eager::KeepDim::yes);
  const Tensor denominator = optim::unary("clamp_min", std::move(norm));
  return eager::pointwise("div", {matrix, denominator}, DType::fp32);
}

// distributed_normalize_p2
Tensor normalized(const Tensor& matrix, dist::ProcessGroup& ranks) {
  Tensor squares = eager::mul(matrix, matrix);
  Tensor sum = eager::sum(squares, {0, 1}, eager::KeepDim::no);
  squares.reset();
  ranks.all_reduce(sum).wait();
  Tensor root = optim::unary("sqrt", sum);
  Tensor denominator = optim::unary("clamp_min", std::move(root));
  return eager::pointwise("div", {matrix, denominator}, DType::fp32);
}

// newton_schulz_step
Tensor iterated(const Tensor& matrix, dist::ProcessGroup* ranks) {
  Tensor gram = eager::mm(matrix, eager::t(matrix));
  if (ranks != nullptr) {
    ranks->all_reduce(gram).wait();
  }
  Tensor polynomial = eager::addmm(gram, gram, gram);
  Tensor result = eager::addmm(matrix, polynomial, matrix);
  eager::end_of_frame(gram, polynomial);
  return result;
}

// newton_schulz; `ranks` of a matrix of which each has a part.
Tensor newton_schulz(const Tensor& given, bool transposes, dist::ProcessGroup* ranks) {
  constexpr int kIterations = 5;  // muon_num_ns_steps
  const Tensor wide = transposes ? eager::t(given) : given;
  Tensor matrix = ranks == nullptr ? normalized(wide) : normalized(wide, *ranks);
  matrix = optim::make_like("to", matrix, DType::bf16);
  for (int i = 0; i < kIterations; ++i) {
    matrix = iterated(matrix, ranks);
  }
  matrix = optim::make_like("to", matrix, DType::fp32);
  return transposes ? eager::t(matrix) : matrix;
}

Tensor newton_schulz(const Tensor& whole) {
  return newton_schulz(whole, whole.size(0) > whole.size(1), nullptr);
}

// tp_mode "duplicated": each rank makes the whole orthogonal and keeps its part.
Tensor gathered_and_orthogonal(const Tensor& part, std::int64_t dim, dist::ProcessGroup& ranks) {
  std::vector<Tensor> parts;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    parts.push_back(eager::empty_like(part, part.dtype()));
  }
  ranks.all_gather(parts, part).wait();
  Tensor whole = eager::cat(parts, dim);
  const Tensor orthogonal = newton_schulz(whole);
  eager::release_list(parts);
  whole.reset();
  return eager::slice(orthogonal, dim, 0, part.size(dim));
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

std::optional<std::int64_t> partition_dim(const nn::NamedTensor& weight) {
  const auto is = [&](const char* layer) { return weight.name.ends_with(layer); };
  if (is("linear_qkv.weight") || is("linear_fc1.weight")) {
    return 0;
  }
  return is("linear_proj.weight") || is("linear_fc2.weight") ? std::optional(1) : std::nullopt;
}

Tensor Orthogonalizer::newton_schulz_tp(const Tensor& matrix,
                                        std::optional<std::int64_t> dim) const {
  if (!dim || mode == MuonTp::blockwise) {
    return newton_schulz(matrix);
  }
  return mode == MuonTp::duplicated ? gathered_and_orthogonal(matrix, *dim, ranks)
                                    : newton_schulz(matrix, *dim == 0, &ranks);
}

// scaled_orthogonalize_fn: orth_grad * scale_factor * extra_scale_factor
Tensor Orthogonalizer::scaled(const Tensor& matrix, std::optional<std::int64_t> dim) const {
  const Tensor orthogonal = newton_schulz_tp(matrix, dim);
  return optim::unary("mul", optim::unary("mul", orthogonal));
}

Tensor Orthogonalizer::operator()(const Tensor& momentum, const QkvSplit* split,
                                  std::optional<std::int64_t> dim) const {
  if (split == nullptr) {
    return scaled(momentum, dim);
  }
  const std::int64_t columns = momentum.size(1);
  std::vector<Tensor> parts = split_rows(momentum, *split);
  std::vector<Tensor> updates;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    updates.push_back(eager::view(scaled(parts[i], dim), {split->groups, split->rows[i], columns}));
  }
  eager::release_list(parts);
  Tensor whole = eager::view(eager::cat(updates, 1), momentum.sizes());
  eager::release_list(updates);
  return whole;
}

}  // namespace highwater::megatron
