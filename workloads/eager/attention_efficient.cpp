// Memory-efficient attention: the mask is brought to an aligned layout first; row sums of grad *
// output are computed by elementary operators where the kernel does not compute them
// (native/transformers/attention.cpp, cuda/attention.cu, cuda/attention_backward.cu of 2.6).
#include <algorithm>

#include "workloads/eager/attention_kernels.hpp"
#include "workloads/eager/output_cache.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager::sdpa {

namespace {

constexpr std::int64_t kMaskAlignment = 8;

// Contiguous memory of shape [b, s, h, d], seen as [b, h, s, d].
Tensor heads_first(const Tensor& like, std::int64_t head_dim) {
  return swap_heads(
      empty(like.runtime(), {like.size(0), like.size(2), like.size(1), head_dim}, like.dtype()));
}

// preprocess_mask: rows are padded unless all strides are multiples of 8 elements.
bool is_aligned(const Tensor& mask) {
  const Dims& strides = mask.strides();
  return strides.back() == 1 &&
         std::all_of(strides.begin(), strides.end() - 1,
                     [](std::int64_t stride) { return stride % kMaskAlignment == 0; });
}

Tensor prepared_mask(Tensor mask, const AttentionShape& shape) {
  if (!is_aligned(mask)) {
    const auto length = mask.size(-1);
    const Tensor wide = constant_pad(mask, {0, kMaskAlignment - length % kMaskAlignment});
    mask = slice(wide, -1, 0, length);
  }
  return expand(mask, {shape.batch, shape.heads, shape.q_len, shape.kv_len});
}

// The row sums (grad * output).sum(-1), in [b, h, s] order and in fp32.
Tensor delta_of(const Tensor& grad, const Tensor& output, const EfficientBackward& blocks) {
  Runtime& runtime = grad.runtime();
  if (blocks.row_sums == 0) {
    return empty(runtime, {blocks.delta}, DType::uint8);
  }
  Tensor wide_grad = to_dtype(grad, DType::fp32);
  Tensor wide_output = to_dtype(output, DType::fp32);
  Tensor product = pointwise("mul", {wide_grad, wide_output}, DType::fp32);
  Tensor sums = sum(product, {-1}, KeepDim::no);
  Tensor delta = contiguous(transpose(sums, 1, 2));
  end_of_frame(sums, product, wide_output, wide_grad);
  return delta;
}

Tensor gradient_of_mask(const Tensor& mask, const EfficientBackward& blocks) {
  Dims sizes = mask.sizes();
  const auto elements = blocks.grad_bias / item_size(mask.dtype());
  sizes.back() = elements / (element_count(sizes) / sizes.back());
  return slice(empty(mask.runtime(), sizes, mask.dtype()), -1, 0, mask.size(-1));
}

TensorList efficient_backward_kernel(const BackwardOperands& in) {
  Runtime& runtime = in.inputs.query.runtime();
  OpScope op(runtime, "_efficient_attention_backward", 2);
  const auto blocks = efficient_backward(runtime.gpu, shape_of(in.inputs), in.inputs.query.dtype(),
                                         in.dropout, in.wants_mask_gradient);
  const Tensor grad = contiguous(swap_heads(in.grad));
  TensorList out(4);
  out[0] = heads_first(in.inputs.query, in.inputs.query.size(3));
  out[1] = heads_first(in.inputs.key, in.inputs.key.size(3));
  out[2] = heads_first(in.inputs.value, in.inputs.value.size(3));
  if (in.wants_mask_gradient) {
    out[3] = gradient_of_mask(in.inputs.mask, blocks);
  }
  const auto dk_expanded = runtime.allocate(blocks.dk_expanded);
  const auto dv_expanded = runtime.allocate(blocks.dv_expanded);
  Tensor delta = delta_of(grad, swap_heads(in.output), blocks);
  const auto workspace = runtime.allocate(blocks.workspace);
  delta.reset();
  return out;
}

// The generator's seed and offset lie on the device where nothing is dropped out (seen in 2.14,
// not in 2.12).
TensorList generator_words(Runtime& runtime, double dropout) {
  if (runtime.torch < Release{2, 14} || dropout > 0) {
    return {};
  }
  const Tensor seed = empty(runtime, {}, DType::int64);
  return {seed, empty(runtime, {}, DType::int64)};
}

TensorList efficient_forward_kernel(const Operands& in, const KernelCall& call) {
  Runtime& runtime = in.query.runtime();
  OpScope op(runtime, "_efficient_attention_forward");
  const TensorList words = generator_words(runtime, call.dropout);
  const auto blocks = efficient_forward(shape_of(in), in.query.dtype(), call.logsumexp);
  const Tensor output = heads_first(in.query, in.value.size(3));
  const Tensor logsumexp = empty_logsumexp(in, blocks.logsumexp);
  const auto accumulator = runtime.allocate(blocks.accumulator);
  TensorList results{output, logsumexp};
  results.insert(results.end(), words.begin(), words.end());
  return results;
}

constexpr FusedAttention kEfficient{efficient_forward_kernel, efficient_backward_kernel};

TensorList efficient_backward_node(Node& node, TensorList& grads, double dropout) {
  const Tensor mask = node.unpack(0);
  const Tensor key = node.unpack(1);
  const Tensor query = node.unpack(2);
  const Tensor value = node.unpack(3);
  const Tensor logsumexp = node.unpack(4);
  const Tensor output = node.unpack(5);
  const Tensor offset = node.unpack_if_saved(6);
  const Tensor seed = node.unpack_if_saved(7);
  return run_backward(kEfficient,
                      {.inputs = {.query = query, .key = key, .value = value, .mask = mask},
                       .output = output,
                       .logsumexp = logsumexp,
                       .grad = grads[0],
                       .dropout = dropout,
                       .wants_mask_gradient = node.needs(3)});
}

Tensor efficient_kernel(const Operands& in, double dropout) {
  Runtime& runtime = in.query.runtime();
  const auto node = begin_node(runtime, "ScaledDotProductEfficientAttentionBackward0",
                               {in.query, in.key, in.value, in.mask});
  if (node) {
    node->save(in.mask);
    node->save(in.key);
    node->save(in.query);
    node->save(in.value);
  }
  const KernelCall call{.dropout = dropout, .logsumexp = logsumexp_of(in)};
  const TensorList results = kept_outputs(runtime, "_scaled_dot_product_efficient_attention",
                                          [&] { return run_forward(kEfficient, in, call); });
  const Tensor& output = results[0];
  const Tensor& logsumexp = results[1];
  finish_node(node, output, [dropout](Node& own, TensorList& grads) {
    return efficient_backward_node(own, grads, dropout);
  });
  if (node) {
    node->save_output(logsumexp);
    node->save_output(output);
    for (std::size_t i = results.size(); i > 2; --i) {  // the offset, then the seed
      node->save_output(results[i - 1]);
    }
  }
  return output;
}

}  // namespace

Tensor efficient_attention(Operands& in, const SdpaOptions& options) {
  if (in.mask.defined()) {
    in.mask = prepared_mask(in.mask, shape_of(in));
  }
  return efficient_kernel(in, options.dropout);
}

}  // namespace highwater::eager::sdpa
