// The operators of the symbolic PyTorch: aten functions with torch's names, decompositions,
// autograd formulas and allocation order (PyTorch 2.6; sources named at each definition).
//
// A function allocates its output first, then kernel scratch, which it frees when it returns.
// Shapes follow aten; nothing is computed.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "workloads/eager/tensor.hpp"

namespace highwater::eager {

// --- creation (factories.cpp) --------------------------------------------------------------------

Tensor empty(Runtime& runtime, const Dims& sizes, DType dtype);
/// As few tensors as may stand for `count` on equal blocks, which have `elements` in all.
/// @pre Runtime::joins_equal_blocks
std::vector<Tensor> empty_equal(Runtime& runtime, std::int64_t elements, std::int64_t count,
                                DType dtype);
Tensor empty_on(Runtime& runtime, Place place, const Dims& sizes, DType dtype);
Tensor empty_strided(Runtime& runtime, const Dims& sizes, const Dims& strides, DType dtype);
Tensor empty_like(const Tensor& self);
Tensor empty_like(const Tensor& self, DType dtype);
/// torch.arange on the GPU: int64 unless `dtype` is given.
Tensor arange(Runtime& runtime, std::int64_t count, DType dtype = DType::int64);
/// A tensor on the same storage, invisible to autograd and view tracking (tensor_data()).
Tensor alias(const Tensor& self);
Tensor detach(const Tensor& self);

// --- views (views.cpp) ---------------------------------------------------------------------------

Tensor view(const Tensor& self, const Dims& sizes);
Tensor reshape(const Tensor& self, const Dims& sizes);
Tensor unsafe_view(const Tensor& self, const Dims& sizes);
Tensor flatten(const Tensor& self, std::int64_t start, std::int64_t end);
Tensor t(const Tensor& self);
Tensor transpose(const Tensor& self, std::int64_t dim0, std::int64_t dim1);
Tensor permute(const Tensor& self, const Dims& order);
Tensor expand(const Tensor& self, const Dims& sizes);
Tensor unsqueeze(const Tensor& self, std::int64_t dim);
Tensor squeeze(const Tensor& self, std::int64_t dim);
/// The open end of a slice, as in self[start:].
inline constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
/// self[..., start:end, ...] along `dim`; `end` is clipped to the size.
Tensor slice(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t end,
             std::int64_t step = 1);
Tensor select(const Tensor& self, std::int64_t dim, std::int64_t index);
TensorList split(const Tensor& self, std::int64_t size, std::int64_t dim);
TensorList split_with_sizes(const Tensor& self, const Dims& sizes, std::int64_t dim);
/// torch.split along dimension 0 into parts of `lengths` rows each.
TensorList split_rows(const Tensor& self, std::span<const std::int64_t> lengths);
TensorList chunk(const Tensor& self, std::int64_t chunks, std::int64_t dim);
TensorList unbind(const Tensor& self, std::int64_t dim);
/// torch.view_as_complex of [..., 2] and its inverse.
Tensor view_as_complex(const Tensor& self);
Tensor view_as_real(const Tensor& self);

// --- copies (copies.cpp) -------------------------------------------------------------------------

/// Tensor.to(dtype): the tensor itself if it already has the type.
Tensor to_dtype(const Tensor& self, DType dtype);
/// Tensor.type_as(other), which also names a device.
Tensor type_as(const Tensor& self, const Tensor& other);
/// An operator's arguments name a device; see Runtime::lacks_fake_context.
void name_device(Runtime& runtime, bool is_dtensor);
/// torch/_subclasses/fake_tensor.py: what the first fake tensor of a device makes on it.
void init_gpu_context(Runtime& runtime);
/// Tensor.to("cuda") of a host tensor.
Tensor to_cuda(const Tensor& self);
/// Tensor.to(device) between GPUs; what is there already, and what is on the host, stays.
Tensor to_device(const Tensor& self, DeviceIndex device);
Tensor clone(const Tensor& self);
/// Tensor.contiguous(): the tensor itself if it is.
Tensor contiguous(const Tensor& self);
Tensor clone_contiguous(const Tensor& self);
Tensor cat(std::span<const Tensor> tensors, std::int64_t dim);
Tensor stack(std::span<const Tensor> tensors, std::int64_t dim);
/// torch.nn.functional.pad with a constant; `pads` from the last dimension as in torch.
Tensor constant_pad(const Tensor& self, const Dims& pads);

// --- elementwise (pointwise.cpp) -----------------------------------------------------------------

/// The result of an elementwise operator: broadcast shape, TensorIterator's strides, no gradient.
Tensor pointwise(const char* op, std::initializer_list<Tensor> operands, DType result);
/// The type that holds both (c10::promoteTypes).
DType wider(DType a, DType b);
/// The result type of two tensors (c10::result_type).
DType promote(const Tensor& a, const Tensor& b);

Tensor add(const Tensor& self, const Tensor& other);
Tensor add(const Tensor& self, double scalar);
Tensor sub(const Tensor& self, const Tensor& other);
Tensor rsub(const Tensor& self, double scalar);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor mul(const Tensor& self, double scalar);
Tensor div(const Tensor& self, const Tensor& other);
Tensor div(const Tensor& self, double scalar);
/// self + first * second
Tensor addcmul(const Tensor& self, const Tensor& first, const Tensor& second);
Tensor neg(const Tensor& self);
Tensor pow(const Tensor& self, double exponent);
/// A number raised to the power of a tensor, without a gradient.
Tensor pow_of_scalar(const Tensor& exponent);
Tensor rsqrt(const Tensor& self);
Tensor tanh(const Tensor& self);
Tensor sigmoid(const Tensor& self);
Tensor relu(const Tensor& self);
Tensor silu(const Tensor& self);
Tensor gelu(const Tensor& self);
Tensor cos(const Tensor& self);
Tensor sin(const Tensor& self);
Tensor masked_fill(const Tensor& self, const Tensor& mask);
/// torch.where(condition, self, other) with tensors of the result's type.
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
/// An elementwise operator with a boolean result (eq, lt, logical_and ...).
Tensor compare(const char* op, std::initializer_list<Tensor> operands);

/// An operator that writes into `self`: nothing is allocated.
inline void in_place(const Tensor& /*self*/) {}

// --- elementwise in place (in_place.cpp) ---------------------------------------------------------

/// self += other; returns self.
Tensor add_(const Tensor& self, const Tensor& other);
/// self += other of one type, where self is a view of all of another tensor.
Tensor add_to_view_(const Tensor& self, const Tensor& other);
/// self *= other, which needs no gradient; returns self.
Tensor mul_(const Tensor& self, const Tensor& other);
/// self /= other; returns self.
Tensor div_(const Tensor& self, const Tensor& other);
/// self /= number; returns self.
Tensor div_(const Tensor& self, double scalar);
/// self[..., start:end].copy_(source); returns self.
Tensor copy_into_columns_(const Tensor& self, std::int64_t start, const Tensor& source);
/// self.masked_fill_(mask, number); returns self.
Tensor masked_fill_(const Tensor& self, const Tensor& mask);
/// self[mask, :] = number; returns self.
Tensor fill_rows_(const Tensor& self, const Tensor& mask);

// --- exponentials (exponentials.cpp) -------------------------------------------------------------

Tensor exp(const Tensor& self);
Tensor expm1(const Tensor& self);
Tensor softplus(const Tensor& self);
/// torch.min(self, other) of a tensor and a number on the device that needs no gradient.
Tensor minimum(const Tensor& self, const Tensor& other);
/// torch.logsumexp over `dim`, which is removed.
Tensor logsumexp(const Tensor& self, std::int64_t dim);

// --- reductions (reduce.cpp) ---------------------------------------------------------------------

/// sum over `dims` (all of them if empty).
Tensor sum(const Tensor& self, const Dims& dims, KeepDim keepdim);
Tensor sum(const Tensor& self, const Dims& dims, KeepDim keepdim, DType dtype);
Tensor mean(const Tensor& self, std::int64_t dim, KeepDim keepdim);
/// at::sum_to: undoes a broadcast.
Tensor sum_to(const Tensor& self, const Dims& sizes);
/// any, all, max ... of everything or over `dims`, without a gradient.
Tensor reduce_plain(const char* op, const Tensor& self, const Dims& dims, KeepDim keepdim,
                    DType dtype);
/// torch.max(self), without a gradient.
Tensor max(const Tensor& self);
/// torch.linalg.vector_norm over `dim`, without a gradient.
Tensor vector_norm(const Tensor& self, std::int64_t dim);
Tensor cumsum(const Tensor& self, std::int64_t dim);
/// The same of integers, in `dtype`.
Tensor cumsum(const Tensor& self, std::int64_t dim, DType dtype);
/// torch.histc of integers with given limits.
Tensor histc(const Tensor& self, std::int64_t bins);

// --- matrix products (matmul.cpp) ----------------------------------------------------------------

Tensor mm(const Tensor& self, const Tensor& mat2);
/// torch.mm(self, mat2, out=...), and addmm that adds to its own output: only the workspace is
/// allocated, whatever the type of the output.
void mm_into(const Tensor& self, const Tensor& mat2);
/// torch._scaled_mm of operands in 8 bits with a scale each, without a gradient.
Tensor scaled_mm(const Tensor& self, const Tensor& mat2, DType dtype);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor addmm(const Tensor& bias, const Tensor& mat1, const Tensor& mat2);
/// baddbmm with beta and alpha given; `self` is broadcast over the batch.
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2);
/// F.grouped_mm(rows, weights.transpose(-2, -1), offs=offsets): [s, width] rows, sorted by group,
/// times a [groups, columns, width] weight each; `filled` of the groups have rows.
Tensor grouped_mm(const Tensor& rows, const Tensor& weights, const Tensor& offsets,
                  std::int64_t filled);
Tensor matmul(const Tensor& self, const Tensor& other);
/// F.linear; `bias` may be undefined.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

// --- neural network operators (nn_ops.cpp) -------------------------------------------------------

Tensor layer_norm(const Tensor& input, const Tensor& weight, const Tensor& bias);
/// F.rms_norm over the last dimension by the fused kernel: input and weight have one type.
Tensor fused_rms_norm(const Tensor& input, const Tensor& weight);
/// F.rms_norm over the last dimension: the fused kernel if it can run. `weight` may be undefined.
Tensor rms_norm(const Tensor& input, const Tensor& weight);
Tensor softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype);
Tensor log_softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype);
/// _safe_softmax: zeros instead of NaN in rows that are -inf everywhere.
Tensor safe_softmax(const Tensor& self, std::int64_t dim);
/// F.dropout: the input itself if p is 0 or `training` is false.
Tensor dropout(const Tensor& input, double p, bool training);
Tensor embedding(const Tensor& weight, const Tensor& indices, bool padding_idx = false);
/// The same for a table of which `weight` is a part: `own_indices` takes `indices`, which are
/// saved, to places in it; the gradient has the shape `grad_sizes`.
Tensor embedding_of_rows(const Tensor& weight, const Tensor& indices, const Dims& grad_sizes,
                         const std::function<Tensor(const Tensor&)>& own_indices);
/// F.cross_entropy of [rows, classes] logits and [rows] targets, reduction mean or sum.
Tensor cross_entropy(const Tensor& logits, const Tensor& target);

// --- scaled dot product attention (attention.cpp) ------------------------------------------------

struct SdpaOptions {
  double dropout = 0.0;
  bool is_causal = false;
  bool enable_gqa = false;
};

/// F.scaled_dot_product_attention of [b, heads, s, d] operands; `mask` may be undefined.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& mask, const SdpaOptions& options);

// --- indexing (indexing.cpp) ---------------------------------------------------------------------

/// self[indices] along dimension 0 with an int64 index of any shape (advanced indexing).
Tensor index(const Tensor& self, const Tensor& indices);
/// self[..., indices, ...] of an int64 vector that has the place of `dim`.
Tensor index_at(const Tensor& self, std::int64_t dim, const Tensor& indices);
/// self[mask] of a mask over the first dimensions that hides nothing.
Tensor index_by_mask(const Tensor& self, const Tensor& mask);
/// self.masked_scatter(mask, source) of a contiguous `self` without gradient, where the mask hides
/// nothing.
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);
/// self[rows, columns] over the first two dimensions with int64 indices of one shape.
Tensor index(const Tensor& self, const Tensor& rows, const Tensor& columns);
/// self[rows, columns] of a matrix with two broadcast index tensors, without a gradient.
Tensor index_pair(const Tensor& self, const Tensor& rows, const Tensor& columns);

Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& indices);
/// self.index_add_(dim, indices, source); returns self.
Tensor index_add_(const Tensor& self, std::int64_t dim, const Tensor& indices,
                  const Tensor& source);
Tensor gather(const Tensor& self, std::int64_t dim, const Tensor& indices);
/// self.scatter_(dim, indices, number) of a tensor without gradient; returns self.
Tensor scatter_(const Tensor& self, std::int64_t dim, const Tensor& indices);
/// self.repeat(...) with a number for each dimension.
Tensor repeat(const Tensor& self, const Dims& repeats);
Tensor repeat_interleave(const Tensor& self, std::int64_t repeats, std::int64_t dim);

/// Values and their places; the values have a gradient.
struct Selected {
  Tensor values;
  Tensor indices;
};

Selected topk(const Tensor& self, std::int64_t k, std::int64_t dim = -1);
/// The greatest along `dim`, and where they are.
Selected max(const Tensor& self, std::int64_t dim, KeepDim keepdim);
/// Rows of at most 4096 elements, or one dimension of int64.
Selected sort(const Tensor& self, std::int64_t dim = -1);
Tensor argsort(const Tensor& self, std::int64_t dim = -1);

/// F.one_hot(self, classes).
Tensor one_hot(const Tensor& self, std::int64_t classes);
/// [found, dimensions] int64: the places of the `found` elements that are not zero.
Tensor nonzero(const Tensor& self, std::int64_t found);
/// torch.where(condition): one index tensor for each dimension, views of one block.
TensorList where(const Tensor& condition, std::int64_t found);

}  // namespace highwater::eager
