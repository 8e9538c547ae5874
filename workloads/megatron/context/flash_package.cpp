#include "workloads/megatron/context/flash_package.hpp"

#include <utility>

#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/attention.hpp"

namespace highwater::megatron {
namespace {

using eager::Dims;
using eager::Tensor;

AttentionShape shape_of(const Tensor& query, const Tensor& key, FlashLengths lengths) {
  return {.batch = query.size(0),
          .heads = query.size(-2),
          .kv_heads = key.size(-2),
          .q_len = lengths.query,
          .kv_len = lengths.key,
          .head_dim = query.size(-1),
          .v_head_dim = query.size(-1)};
}

}  // namespace

FlashStep flash_step(const Tensor& query, const Tensor& key, FlashLengths lengths, double dropout) {
  eager::Runtime& runtime = query.runtime();
  const eager::OpScope op(runtime, "flash_attn::_flash_attn_forward");
  const AttentionShape shape = shape_of(query, key, lengths);
  const FlashForward blocks = flash_forward(runtime.gpu, shape, dropout);
  const Dims sizes{shape.batch, shape.q_len, shape.heads, shape.head_dim};
  Tensor out = eager::empty(runtime, sizes, query.dtype());
  Tensor logsumexp = eager::empty(runtime, {shape.batch, shape.heads, shape.q_len}, DType::fp32);
  const auto split_logsumexp = runtime.allocate(blocks.split_logsumexp);
  const auto split_output = runtime.allocate(blocks.split_output);
  Tensor rng_state = eager::empty(runtime, {2}, DType::int64);
  return {std::move(out), std::move(logsumexp), std::move(rng_state)};
}

void flash_step_backward(const Tensor& query, const Tensor& key, FlashLengths lengths) {
  eager::Runtime& runtime = query.runtime();
  const eager::OpScope op(runtime, "flash_attn::_flash_attn_backward");
  const FlashBackward blocks = flash_backward(shape_of(query, key, lengths), query.dtype());
  const auto softmax_d = runtime.allocate(blocks.softmax_d);
  const auto dq_accum = runtime.allocate(blocks.dq_accum);
  const auto dk_expanded = runtime.allocate(blocks.dk_expanded);
  const auto dv_expanded = runtime.allocate(blocks.dv_expanded);
}

}  // namespace highwater::megatron
