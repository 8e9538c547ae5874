// cuDNN's fused attention (native/cudnn/MHA.cpp), which 2.6 uses only if forced. Before 2.15 a
// gradient whose layout differs from the output's is copied.
#include <utility>

#include "workloads/eager/attention_kernels.hpp"
#include "workloads/eager/output_cache.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/cudnn_attention.hpp"

namespace highwater::eager::sdpa {

namespace {

// alloc_with_matching_layout: the order of q's dimensions in memory, with v's head dimension.
Tensor output_like(const Operands& in) {
  Dims sizes = in.query.sizes();
  sizes.back() = in.value.size(3);
  return empty_strided(in.query.runtime(), sizes, dense_strides(sizes, in.query.strides()),
                       in.query.dtype());
}

// Dimensions of size 1 are ignored.
bool same_strides(const Tensor& a, const Tensor& b) {
  for (std::size_t i = 0; i < a.dim(); ++i) {
    if (a.sizes()[i] > 1 && a.strides()[i] != b.strides()[i]) {
      return false;
    }
  }
  return true;
}

TensorList cudnn_backward_kernel(const BackwardOperands& in) {
  Runtime& runtime = in.inputs.query.runtime();
  OpScope op(runtime, "_scaled_dot_product_cudnn_attention_backward");
  const auto blocks =
      highwater::cudnn_attention(runtime.gpu, {.shape = shape_of(in.inputs),
                                               .dropout = in.dropout,
                                               .workspaces = runtime.cudnn_workspaces});
  TensorList out(4);
  out[0] = empty_like(in.inputs.query);
  out[1] = empty_like(in.inputs.key);
  out[2] = empty_like(in.inputs.value);
  Tensor grad = in.grad;
  if (runtime.torch < Release{2, 11} && !same_strides(grad, in.output)) {
    grad = empty_strided(runtime, in.output.sizes(), in.output.strides(), grad.dtype());
  }
  const auto workspace = runtime.allocate(blocks.backward_workspace);
  return out;
}

TensorList cudnn_forward_kernel(const Operands& in, const KernelCall& call) {
  Runtime& runtime = in.query.runtime();
  OpScope op(runtime, "_scaled_dot_product_cudnn_attention");
  const auto blocks =
      highwater::cudnn_attention(runtime.gpu, {.shape = shape_of(in),
                                               .dropout = call.dropout,
                                               .logsumexp = call.logsumexp,
                                               .workspaces = runtime.cudnn_workspaces});
  const Tensor seed = empty(runtime, {blocks.seed}, DType::uint8);
  const Tensor offset = empty(runtime, {blocks.offset}, DType::uint8);
  const Tensor output = output_like(in);
  const Tensor logsumexp = empty_logsumexp(in, blocks.logsumexp);
  const auto workspace = runtime.allocate(blocks.forward_workspace);
  return {output, logsumexp, seed, offset};
}

constexpr FusedAttention kCudnn{cudnn_forward_kernel, cudnn_backward_kernel};

// Variables of the generated apply(), which die from the last one on.
TensorList cudnn_backward_node(Node& node, TensorList& grads, double dropout) {
  const Tensor mask = node.unpack(0);
  const Tensor key = node.unpack(1);
  const Tensor query = node.unpack(2);
  const Tensor value = node.unpack(3);
  const Tensor logsumexp = node.unpack(4);
  const Tensor output = node.unpack(5);
  const Tensor offset = node.unpack(6);
  const Tensor seed = node.unpack(7);
  return run_backward(kCudnn, {.inputs = {.query = query, .key = key, .value = value, .mask = {}},
                               .output = output,
                               .logsumexp = logsumexp,
                               .grad = grads[0],
                               .dropout = dropout});
}

}  // namespace

Tensor cudnn_attention(const Operands& in, const SdpaOptions& options) {
  Runtime& runtime = in.query.runtime();
  const auto node = begin_node(runtime, "ScaledDotProductCudnnAttentionBackward0",
                               {in.query, in.key, in.value, in.mask});
  if (node) {
    node->save(in.mask);
    node->save(in.key);
    node->save(in.query);
    node->save(in.value);
  }
  const KernelCall call{.dropout = options.dropout, .logsumexp = logsumexp_of(in)};
  TensorList results = kept_outputs(runtime, "_scaled_dot_product_cudnn_attention",
                                    [&] { return run_forward(kCudnn, in, call); });
  Tensor output = std::move(results[0]);
  Tensor logsumexp = std::move(results[1]);
  Tensor seed = std::move(results[2]);
  Tensor offset = std::move(results[3]);
  finish_node(node, output, [dropout = options.dropout](Node& own, TensorList& grads) {
    return cudnn_backward_node(own, grads, dropout);
  });
  if (node) {
    node->save_output(logsumexp);
    node->save_output(output);
    node->save_output(offset);
    node->save_output(seed);
  }
  end_of_frame(logsumexp, seed, offset);  // a C++ tuple dies from its first member
  return output;
}

}  // namespace highwater::eager::sdpa
