// Matrix products: aten's decompositions, cuBLAS's layout requirements, and workspaces
// (ATen/native/LinearAlgebra.cpp, Linear.cpp, cuda/Blas.cpp; gradients in FunctionsManual.cpp).
#include <algorithm>
#include <utility>

#include "workloads/eager/autocast.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/output_cache.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/cublas.hpp"
#include "workloads/kernels/grouped_gemm.hpp"

namespace highwater::eager {

namespace {

Tensor make_workspace(Runtime& runtime, std::int64_t bytes) {
  Tensor workspace = empty(runtime, {bytes}, DType::uint8);
  runtime.categorize(workspace, Category::workspace);
  return workspace;
}

// The workspace of a product in cuBLAS: a block while the result lives, or, in releases that keep
// it, one for the life of the process, made at the thread's first product.
[[nodiscard]] Ref<Storage> use_cublas(Runtime& runtime) {
  const CublasWorkspace workspace = cublas_workspace(runtime.gpu, runtime.torch);
  if (workspace.life == WorkspaceLife::per_call) {
    return make_workspace(runtime, workspace.bytes)->storage;
  }
  if (!runtime.has_cublas_workspace()) {
    runtime.has_cublas_workspace() = true;
    runtime.workspaces.push_back(make_workspace(runtime, workspace.bytes));
  }
  return {};
}

// Where cuBLASLt's workspace is kept as well, the handle, and with it cuBLAS's, is asked for first
// (CUDABlas.cpp of 2.9 to 2.11: CUDABlasLtWorkspace).
void keep_cublaslt_workspace(Runtime& runtime, std::int64_t bytes) {
  [[maybe_unused]] const auto kept = use_cublas(runtime);
  if (!std::exchange(runtime.has_cublaslt_workspace(), true)) {
    runtime.workspaces.push_back(make_workspace(runtime, bytes));
  }
}

// The same for a product in cuBLASLt. Its handle is cuBLAS's, which has a workspace in releases
// that keep it.
[[nodiscard]] Ref<Storage> use_cublaslt(Runtime& runtime) {
  const CublasWorkspace own = cublaslt_workspace(runtime.torch);
  if (own.life == WorkspaceLife::persistent) {
    keep_cublaslt_workspace(runtime, own.bytes);
    return {};
  }
  Ref<Storage> scratch = make_workspace(runtime, own.bytes)->storage;
  if (cublas_workspace(runtime.gpu, runtime.torch).life == WorkspaceLife::persistent) {
    [[maybe_unused]] const auto kept = use_cublas(runtime);
  }
  return scratch;
}

// Blas.cpp: prepare_matrix_for_cublas; an operand that is neither row- nor column-major is copied.
bool is_blas_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                    std::int64_t column_stride) {
  const auto one = std::int64_t{1};
  return (row_stride == 1 && column_stride >= std::max(one, rows)) ||
         (column_stride == 1 && row_stride >= std::max(one, columns));
}

Tensor prepared(const Tensor& operand) {
  const auto rank = operand.dim();
  const bool fits = is_blas_matrix(operand.sizes()[rank - 2], operand.sizes()[rank - 1],
                                   operand.strides()[rank - 2], operand.strides()[rank - 1]);
  if (fits || operand.is_contiguous()) {
    return operand;
  }
  NoGrad no_grad(operand.runtime());
  return clone_contiguous(operand);
}

bool is_column_major(const Dims& sizes, const Dims& strides) {
  return strides[0] == 1 && strides[1] == sizes[0];
}

// mm_mat1_backward, mm_mat2_backward: the gradient gets the operand's own layout.
Tensor grad_of_left(const Tensor& grad, const Tensor& right, const Dims& sizes,
                    const Dims& strides) {
  return is_column_major(sizes, strides) ? t(mm(right, t(grad))) : mm(grad, t(right));
}

Tensor grad_of_right(const Tensor& grad, const Tensor& left, const Dims& sizes,
                     const Dims& strides) {
  return is_column_major(sizes, strides) ? t(mm(t(grad), left)) : mm(t(left), grad);
}

Tensor product(const char* op, const Tensor& self, const Tensor& other, const Dims& sizes) {
  Runtime& runtime = self.runtime();
  OpScope scope(runtime, op, 0);
  Tensor result = empty(runtime, sizes, self.dtype());
  const Tensor left = prepared(self);
  const Tensor right = prepared(other);
  const auto workspace = use_cublas(runtime);
  return result;
}

// Columns times rows run in a Triton kernel, not in cuBLAS (torch/_native/ops/bmm_outer_product of
// 2.13).
bool is_outer_product(const Tensor& self, const Tensor& other) {
  return self.runtime().torch >= Release{2, 13} && self.sizes()[2] == 1 && other.sizes()[1] == 1;
}

Tensor batched_product(const Tensor& self, const Tensor& other) {
  const Dims sizes{self.sizes()[0], self.sizes()[1], other.sizes()[2]};
  if (!is_outer_product(self, other)) {
    return product("bmm", self, other, sizes);
  }
  const OpScope scope(self.runtime(), "bmm", 0);
  return empty(self.runtime(), sizes, self.dtype());
}

// A bias that is whole on each rank is divided before it is added to partial sums.
Tensor divided(const Tensor& bias) {
  return pointwise("div", {bias}, bias.dtype());
}

Tensor addmm_product(const Tensor& own_bias, const Tensor& mat1, const Tensor& mat2) {
  Runtime& runtime = mat1.runtime();
  const Tensor bias = runtime.divides_bias ? divided(own_bias) : own_bias;
  OpScope scope(runtime, "addmm", 0);
  Tensor result = empty(runtime, {mat1.sizes()[0], mat2.sizes()[1]}, mat1.dtype());
  const Tensor left = prepared(mat1);
  const Tensor right = prepared(mat2);
  const AddmmCall call{.k = mat1.sizes()[1],
                       .n = mat2.sizes()[1],
                       .dtype = mat1.dtype(),
                       .bias_dims = static_cast<int>(bias.dim()),
                       .bias_size = bias.numel(),
                       .bias_contiguous = bias.is_contiguous(),
                       .torch = runtime.torch};
  const auto workspace = addmm_uses_cublaslt(call) ? use_cublaslt(runtime) : use_cublas(runtime);
  return result;
}

Tensor kept_product(const char* op, const Tensor& self, const Tensor& other, const Dims& sizes) {
  return kept_outputs(self.runtime(), op,
                      [&] { return TensorList{product(op, self, other, sizes)}; })[0];
}

// should_fold of LinearAlgebra.cpp: one large matrix product instead of many small ones.
bool should_fold(const Tensor& self, const Tensor& other) {
  const bool self_larger = self.dim() >= other.dim();
  const Tensor& larger = self_larger ? self : other;
  const Tensor& smaller = self_larger ? other : self;
  if (larger.dim() < 3 || smaller.dim() > 2) {
    return false;
  }
  if (smaller.requires_grad()) {
    return true;
  }
  if (self.dim() == 2) {
    return false;
  }
  if (larger.numel() == 0) {
    return true;
  }
  for (std::size_t i = 0; i + 2 < larger.dim(); ++i) {
    if (larger.strides()[i] != larger.strides()[i + 1] * larger.sizes()[i + 1]) {
      return false;
    }
  }
  return true;
}

Tensor folded_matmul(const Tensor& self, const Tensor& other) {
  const bool transposed = other.dim() > self.dim();
  const Tensor large = transposed ? transpose(other, -2, -1) : self;
  const Tensor small = transposed ? (self.dim() == 2 ? t(self) : self) : other;
  Dims sizes(large.sizes().begin(), large.sizes().end() - 1);
  const auto rows = element_count(sizes);
  sizes.push_back(small.sizes()[1]);
  const Tensor folded = reshape(large, {rows, large.sizes().back()});
  Tensor output = unsafe_view(mm(folded, small), sizes);
  return transposed ? contiguous(transpose(output, -2, -1)) : output;
}

Tensor batched_operand(const Tensor& operand, const Dims& batch) {
  const auto rank = operand.dim();
  const auto rows = operand.sizes()[rank - 2];
  const auto columns = operand.sizes()[rank - 1];
  Dims expanded = batch;
  expanded.push_back(rows);
  expanded.push_back(columns);
  return reshape(expand(operand, expanded), {element_count(batch), rows, columns});
}

Tensor batched_matmul(const Tensor& self, const Tensor& other) {
  const Dims left(self.sizes().begin(), self.sizes().end() - 2);
  const Dims right(other.sizes().begin(), other.sizes().end() - 2);
  Dims sizes = broadcast(left, right);
  const Tensor a = batched_operand(self, sizes);
  const Tensor b = batched_operand(other, sizes);
  sizes.push_back(self.size(-2));
  sizes.push_back(other.size(-1));
  return unsafe_view(bmm(a, b), sizes);
}

/// How many groups there are, and how many of them have rows.
struct Groups {
  std::int64_t all = 0;
  std::int64_t filled = 0;
};

// The products of all groups, into a result whose rows are aligned to 16 bytes.
Tensor grouped_product(const Dims& sizes, const Groups& groups, const Tensor& like) {
  Runtime& runtime = like.runtime();
  const OpScope scope(runtime, "_grouped_mm");
  constexpr std::int64_t kAlignment = 16;
  Dims padded = sizes;
  const std::int64_t unit = kAlignment / item_size(like.dtype());
  padded.back() = (padded.back() + unit - 1) / unit * unit;
  Tensor result = slice(empty(runtime, padded, like.dtype()), -1, 0, sizes.back());
  if (runs_grouped_kernel(runtime.gpu, like.dtype())) {
    const auto scratch = grouped_gemm_scratch(runtime.gpu, groups.all, runtime.torch);
    const auto arguments = runtime.allocate(scratch.arguments);
    const auto workspace = runtime.allocate(scratch.workspace);
    return result;
  }
  runtime.synchronize();  // the host reads where groups end
  for (std::int64_t group = 0; group < groups.filled; ++group) {
    [[maybe_unused]] const auto workspace = use_cublas(runtime);
  }
  return result;
}

Tensor flat_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Tensor flat = reshape(input, {-1, input.size(-1)});
  const Tensor result = addmm(bias, flat, t(weight));
  Dims sizes = input.sizes();
  sizes.back() = weight.sizes()[0];
  return view(result, sizes);
}

}  // namespace

Tensor mm(const Tensor& self_in, const Tensor& mat2_in) {
  const AutocastOp cast(self_in.runtime());
  const Tensor mat2 = cast.to_lower(mat2_in);
  const Tensor self = cast.to_lower(self_in);
  const auto node = begin_node(self.runtime(), "MmBackward0", {self, mat2});
  if (node) {
    node->save(self.requires_grad() ? mat2 : Tensor{});
    node->save(mat2.requires_grad() ? self : Tensor{});
  }
  Tensor result = kept_product("mm", self, mat2, {self.sizes()[0], mat2.sizes()[1]});
  finish_node(node, result,
              [self_sizes = self.sizes(), self_strides = self.strides(), sizes = mat2.sizes(),
               strides = mat2.strides()](Node& own, TensorList& grads) {
                const Tensor right = own.unpack(0);
                const Tensor left = own.unpack(1);
                TensorList out(2);
                if (own.needs(1)) {
                  out[1] = grad_of_right(grads[0], left, sizes, strides);
                }
                if (own.needs(0)) {
                  out[0] = grad_of_left(grads[0], right, self_sizes, self_strides);
                }
                return out;
              });
  return result;
}

void mm_into(const Tensor& self, const Tensor& mat2) {
  OpScope scope(self.runtime(), "mm");
  const Tensor left = prepared(self);
  const Tensor right = prepared(mat2);
  const auto workspace = use_cublas(self.runtime());
}

// native/cuda/ScaledBlas.cpp: cuBLASLt.
Tensor scaled_mm(const Tensor& self, const Tensor& mat2, DType dtype) {
  Runtime& runtime = self.runtime();
  const OpScope op(runtime, "_scaled_mm", 0);
  Tensor result = empty(runtime, {self.size(0), mat2.size(1)}, dtype);
  const Ref<Storage> workspace = use_cublaslt(runtime);
  return result;
}

Tensor bmm(const Tensor& self_in, const Tensor& mat2_in) {
  const AutocastOp cast(self_in.runtime());
  const Tensor mat2 = cast.to_lower(mat2_in);
  const Tensor self = cast.to_lower(self_in);
  const auto node = begin_node(self.runtime(), "BmmBackward0", {self, mat2});
  if (node) {
    node->save(self.requires_grad() ? mat2 : Tensor{});
    node->save(mat2.requires_grad() ? self : Tensor{});
  }
  Tensor result = kept_outputs(self.runtime(), "bmm",
                               [&] { return TensorList{batched_product(self, mat2)}; })[0];
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor right = own.unpack(0);
    const Tensor left = own.unpack(1);
    TensorList out(2);
    if (own.needs(1)) {
      out[1] = bmm(transpose(left, 1, 2), grads[0]);
    }
    if (own.needs(0)) {
      out[0] = bmm(grads[0], transpose(right, 1, 2));
    }
    return out;
  });
  return result;
}

Tensor addmm(const Tensor& bias_in, const Tensor& mat1_in, const Tensor& mat2_in) {
  const AutocastOp cast(mat1_in.runtime());
  const Tensor mat2 = cast.to_lower(mat2_in);
  const Tensor mat1 = cast.to_lower(mat1_in);
  const Tensor bias = cast.to_lower(bias_in);
  const auto node = begin_node(mat1.runtime(), "AddmmBackward0", {bias, mat1, mat2});
  if (node) {
    node->save(mat2.requires_grad() ? mat1 : Tensor{});
    node->save(mat1.requires_grad() ? mat2 : Tensor{});
  }
  Tensor result = kept_outputs(mat1.runtime(), "addmm",
                               [&] { return TensorList{addmm_product(bias, mat1, mat2)}; })[0];
  finish_node(node, result,
              [left_sizes = mat1.sizes(), left_strides = mat1.strides(), sizes = mat2.sizes(),
               strides = mat2.strides()](Node& own, TensorList& grads) {
                const Tensor left = own.unpack(0);
                const Tensor right = own.unpack(1);
                TensorList out(3);
                if (own.needs(1)) {
                  out[1] = grad_of_left(grads[0], right, left_sizes, left_strides);
                }
                if (own.needs(2)) {
                  out[2] = grad_of_right(grads[0], left, sizes, strides);
                }
                if (own.needs(0)) {
                  out[0] = grads[0];  // summed to the bias's shape when the engine checks it
                }
                return out;
              });
  return result;
}

Tensor baddbmm(const Tensor& self_in, const Tensor& batch1_in, const Tensor& batch2_in) {
  const AutocastOp cast(batch1_in.runtime());
  const Tensor batch2 = cast.to_lower(batch2_in);
  const Tensor batch1 = cast.to_lower(batch1_in);
  const Tensor self = cast.to_lower(self_in);
  const auto node = begin_node(self.runtime(), "BaddbmmBackward0", {self, batch1, batch2});
  if (node) {
    node->save(batch2.requires_grad() ? batch1 : Tensor{});
    node->save(batch1.requires_grad() ? batch2 : Tensor{});
  }
  Tensor result =
      product("baddbmm", batch1, batch2, {batch1.sizes()[0], batch1.sizes()[1], batch2.sizes()[2]});
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor left = own.unpack(0);
    const Tensor right = own.unpack(1);
    TensorList out(3);
    if (own.needs(1)) {
      out[1] = mul(bmm(grads[0], transpose(right, 1, 2)), 1.0);
    }
    if (own.needs(2)) {
      out[2] = mul(bmm(transpose(left, 1, 2), grads[0]), 1.0);
    }
    if (own.needs(0)) {
      out[0] = grads[0];
    }
    return out;
  });
  return result;
}

// The gradient of the weights has their own layout: that of [groups, columns, rows].
Tensor grouped_mm(const Tensor& rows, const Tensor& weights, const Tensor& offsets,
                  std::int64_t filled) {
  const auto node = begin_node(rows.runtime(), "GroupedMmBackward0", {rows, weights});
  if (node) {
    node->save(rows.requires_grad() ? weights : Tensor{});
    node->save(offsets);
    node->save(weights.requires_grad() ? rows : Tensor{});
  }
  const Groups groups{weights.size(0), filled};
  const std::int64_t width = rows.size(1);
  const std::int64_t columns = weights.size(1);
  Tensor result = grouped_product({rows.size(0), columns}, groups, rows);
  finish_node(node, result, [groups, width, columns](Node& own, TensorList& grads) {
    TensorList out(2);
    if (own.needs(1)) {
      out[1] = grouped_product({groups.all, columns, width}, groups, grads[0]);
    }
    if (own.needs(0)) {
      out[0] = grouped_product({grads[0].size(0), width}, groups, grads[0]);
    }
    return out;
  });
  return result;
}

Tensor matmul(const Tensor& self_in, const Tensor& other_in) {
  const AutocastOp cast(self_in.runtime());
  const Tensor other = cast.to_lower(other_in);
  const Tensor self = cast.to_lower(self_in);
  if (self.dim() == 2 && other.dim() == 2) {
    return mm(self, other);
  }
  return should_fold(self, other) ? folded_matmul(self, other) : batched_matmul(self, other);
}

Tensor linear(const Tensor& input_in, const Tensor& weight_in, const Tensor& bias_in) {
  const AutocastOp cast(input_in.runtime());
  const Tensor bias = cast.to_lower(bias_in);
  const Tensor weight = cast.to_lower(weight_in);
  const Tensor input = cast.to_lower(input_in);
  if (bias.defined() && input.dim() == 2) {
    return addmm(bias, input, t(weight));
  }
  if (bias.defined() && input.dim() == 3 && input.is_contiguous()) {
    return flat_linear(input, weight, bias);
  }
  Tensor output = matmul(input, t(weight));
  return bias.defined() ? add_(output, bias) : output;
}

}  // namespace highwater::eager
