#include "workloads/megatron/transformer_engine/attention.hpp"

#include <string>
#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/cudnn_attention.hpp"

namespace highwater::megatron {
namespace {

using eager::Dims;
using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

/// get_qkv_layout: operands that lie beside each other in one block ("sbh3d") are taken as they
/// are, others have to be contiguous.
bool are_interleaved(const Tensor& query, const Tensor& key, const Tensor& value) {
  return query->storage.get() == value->storage.get() && query.sizes() == key.sizes() &&
         query.strides() == value.strides();
}

/// get_full_cu_seqlens: kept for each batch size and length.
void keep_sequence_offsets(Runtime& runtime, std::int64_t batch, std::int64_t length) {
  Tensor& kept =
      runtime.kept("get_full_cu_seqlens " + std::to_string(batch) + " " + std::to_string(length));
  if (!kept.defined()) {
    const eager::OpScope op(runtime, "get_full_cu_seqlens");
    kept = eager::empty(runtime, {batch + 1}, DType::int32);
    runtime.categorize(kept, Category::workspace);
  }
}

CudnnAttention blocks_of(const Tensor& query, const Tensor& key, const Tensor& value,
                         double dropout) {
  Runtime& runtime = query.runtime();
  return cudnn_attention(runtime.gpu, {.shape = {.batch = query.size(1),
                                                 .heads = query.size(2),
                                                 .kv_heads = key.size(2),
                                                 .q_len = query.size(0),
                                                 .kv_len = key.size(0),
                                                 .head_dim = query.size(3),
                                                 .v_head_dim = value.size(3)},
                                       .dropout = dropout,
                                       .workspaces = runtime.cudnn_workspaces});
}

struct Attended {
  Tensor output;
  Tensor random_state;
  Tensor row_sums;
};

// fused_attn_fwd: the workspace is asked for before the row sums.
Attended attend(const Tensor& query, const Tensor& key, const Tensor& value, double dropout) {
  Runtime& runtime = query.runtime();
  const eager::OpScope op(runtime, "fused_attn_fwd");
  const CudnnAttention blocks = blocks_of(query, key, value, dropout);
  Dims sizes = query.sizes();
  sizes.back() = value.size(3);
  Attended result;
  result.output = eager::empty(runtime, sizes, query.dtype());
  result.random_state = eager::empty(runtime, {2}, DType::int64);
  const auto workspace = runtime.allocate(blocks.forward_workspace);
  result.row_sums =
      eager::empty(runtime, {query.size(1), query.size(2), query.size(0), 1}, DType::fp32);
  return result;
}

/// The gradients of interleaved operands lie in one block as well.
TensorList interleaved_gradients(const Tensor& query) {
  Dims sizes = query.sizes();
  sizes.back() *= 3;
  const Tensor all = eager::empty(query.runtime(), sizes, query.dtype());
  return eager::split_with_sizes(all, {query.size(3), query.size(3), query.size(3)}, 3);
}

struct FusedBackward {
  double dropout;
  bool is_interleaved;

  TensorList operator()(eager::Node& node, TensorList& /*grads*/) const {
    const Tensor query = node.unpack(0);
    const Tensor key = node.unpack(1);
    const Tensor value = node.unpack(2);
    Runtime& runtime = query.runtime();
    const eager::OpScope op(runtime, "fused_attn_bwd");
    TensorList gradients = is_interleaved
                               ? interleaved_gradients(query)
                               : TensorList{eager::empty_like(query), eager::empty_like(key),
                                            eager::empty_like(value)};
    const auto workspace =
        runtime.allocate(blocks_of(query, key, value, dropout).backward_workspace);
    return gradients;
  }
};

}  // namespace

Tensor fused_attention(const Tensor& query_in, const Tensor& key_in, const Tensor& value_in,
                       double dropout) {
  Runtime& runtime = query_in.runtime();
  const bool is_interleaved = are_interleaved(query_in, key_in, value_in);
  const auto laid_out = [&](const Tensor& states) {
    return is_interleaved ? states : eager::contiguous(states);
  };
  const Tensor query = laid_out(query_in);
  const Tensor key = laid_out(key_in);
  const Tensor value = laid_out(value_in);
  keep_sequence_offsets(runtime, query.size(1), query.size(0));
  const auto node = eager::begin_node(runtime, "FusedAttnFuncBackward", {query, key, value});
  Attended result;
  {
    const eager::NoGrad no_grad(runtime);
    result = attend(query, key, value, dropout);
  }
  eager::finish_node(node, result.output,
                     FusedBackward{.dropout = dropout, .is_interleaved = is_interleaved});
  if (node) {
    node->save(query);
    node->save(key);
    node->save(value);
    node->save_output(result.output);
    node->save(result.row_sums);
    node->save(result.random_state);
  }
  eager::end_of_frame(result.random_state, result.row_sums);
  return eager::view(result.output, {query.size(0), query.size(1), -1});
}

}  // namespace highwater::megatron
