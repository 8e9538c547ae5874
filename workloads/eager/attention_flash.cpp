// Flash attention: results keep the layouts of the operands; head dimensions that are not a
// multiple of 8 are padded by operators that autograd records (native/transformers/attention.cpp,
// cuda/flash_attn/flash_api.cpp of PyTorch 2.6; the differences in 2.14 and 2.15 were seen in
// recordings).
#include "workloads/eager/attention_kernels.hpp"
#include "workloads/eager/output_cache.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager::sdpa {

namespace {

// empty_like of the [b, s, h, d] view, seen as [b, h, s, d] again.
Tensor empty_like_sequence_first(const Tensor& self) {
  return swap_heads(empty_like(swap_heads(self)));
}

// dK and dV have a copy for each query head first when heads are grouped.
void use_accumulators(Runtime& runtime, const FlashBackward& blocks) {
  const auto softmax_d = runtime.allocate(blocks.softmax_d);
  const auto dq_accum = runtime.allocate(blocks.dq_accum);
  const auto dk_expanded = runtime.allocate(blocks.dk_expanded);
  const auto dv_expanded = runtime.allocate(blocks.dv_expanded);
}

TensorList flash_backward_kernel(const BackwardOperands& in) {
  Runtime& runtime = in.inputs.query.runtime();
  OpScope op(runtime, "_flash_attention_backward", 3);
  const Tensor grad = contiguous(swap_heads(in.grad));
  const Tensor output = contiguous(swap_heads(in.output));
  TensorList out(3);
  out[0] = empty_like_sequence_first(in.inputs.query);
  out[1] = empty_like_sequence_first(in.inputs.key);
  out[2] = empty_like_sequence_first(in.inputs.value);
  use_accumulators(runtime, flash_backward(shape_of(in.inputs), in.inputs.query.dtype()));
  return out;
}

/// Flash attention's own sources, instead of a copy, since pull request 146372.
constexpr Release kOwnSources{2, 7};

// mha_fwd since then: the generator's state (two uint64) and an unused scalar lie on the device,
// with dropout in a second tensor that takes the first one's place. 2.6 has them on the host.
TensorList generator_state(Runtime& runtime, double dropout) {
  constexpr std::int64_t kWord = 8;
  if (runtime.torch < kOwnSources) {
    return {};
  }
  Tensor state = empty(runtime, {2 * kWord}, DType::uint8);
  const Tensor unused = empty(runtime, {kWord}, DType::uint8);
  if (dropout > 0) {
    state = empty(runtime, {2 * kWord}, DType::uint8);
  }
  return {state, unused};
}

TensorList flash_forward_kernel(const Operands& in, const KernelCall& call) {
  Runtime& runtime = in.query.runtime();
  const auto blocks = flash_forward(runtime.gpu, shape_of(in), call.dropout);
  const bool combines_splits = blocks.split_output > 0;  // by a kernel of its own
  OpScope op(runtime, "_flash_attention_forward", combines_splits ? 2 : 1);
  const Tensor output = empty_like_sequence_first(in.query);
  const Tensor logsumexp = empty_logsumexp(in, blocks.logsumexp);
  auto split_logsumexp = runtime.allocate(blocks.split_logsumexp);
  auto split_output = runtime.allocate(blocks.split_output);
  TensorList results{output, logsumexp};
  for (const Tensor& state : generator_state(runtime, call.dropout)) {
    results.push_back(state);
  }
  if (runtime.torch >= kOwnSources) {  // mha_fwd: a tuple of both is freed from its first on
    split_logsumexp.reset();
  }
  split_output.reset();
  return results;
}

constexpr FusedAttention kFlash{flash_forward_kernel, flash_backward_kernel};

TensorList flash_backward_node(Node& node, TensorList& grads) {
  const Tensor key = node.unpack(0);
  const Tensor query = node.unpack(1);
  const Tensor value = node.unpack(2);
  const Tensor logsumexp = node.unpack(3);
  const Tensor output = node.unpack(4);
  const Tensor state = node.unpack_if_saved(5);
  const Tensor unused = node.unpack_if_saved(6);
  return run_backward(kFlash, {.inputs = {.query = query, .key = key, .value = value, .mask = {}},
                               .output = output,
                               .logsumexp = logsumexp,
                               .grad = grads[0]});
}

Tensor flash_kernel(const Operands& in, double dropout) {
  Runtime& runtime = in.query.runtime();
  const auto node =
      begin_node(runtime, "ScaledDotProductFlashAttentionBackward0", {in.query, in.key, in.value});
  if (node) {
    node->save(in.key);
    node->save(in.query);
    node->save(in.value);
  }
  const TensorList results = kept_outputs(runtime, "_scaled_dot_product_flash_attention", [&] {
    return run_forward(kFlash, in, {.dropout = dropout});
  });
  const Tensor& output = results[0];
  const Tensor& logsumexp = results[1];
  finish_node(node, output, flash_backward_node);
  if (node) {
    node->save_output(logsumexp);
    node->save_output(output);
    for (std::size_t i = 2; i < results.size(); ++i) {
      node->save_output(results[i]);
    }
  }
  return output;
}

// pad_last_dim<8>.
Tensor padded(const Tensor& self) {
  const auto head_dim = self.size(-1);
  const auto missing = flash_padded_head_dim(head_dim) - head_dim;
  return missing == 0 ? self : constant_pad(self, {0, missing});
}

}  // namespace

Tensor flash_attention(const Operands& in, const SdpaOptions& options) {
  Operands wide;
  wide.query = padded(in.query);
  wide.key = padded(in.key);
  wide.value = padded(in.value);
  Tensor output = flash_kernel(wide, options.dropout);
  const auto head_dim = in.query.size(-1);
  if (output.size(-1) != head_dim) {
    output = slice(output, -1, 0, head_dim);
  }
  end_of_frame(wide.value, wide.key, wide.query);
  return output;
}

}  // namespace highwater::eager::sdpa
