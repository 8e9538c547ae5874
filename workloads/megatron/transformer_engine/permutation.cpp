#include "workloads/megatron/transformer_engine/permutation.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/transformer_engine/autotuner.hpp"

namespace highwater::megatron {

using eager::Node;
using eager::OpScope;
using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

namespace {

constexpr std::int64_t kTokensOfBlock = 1024;

// make_row_id_map: how many experts a token has, then where its rows are and whose they are.
Tensor row_id_map(const Tensor& probs) {
  Runtime& runtime = probs.runtime();
  const OpScope op(runtime, "make_row_id_map");
  const std::int64_t tokens = probs.size(0);
  const std::int64_t experts = probs.size(1);
  Tensor map = eager::empty(runtime, {tokens, 2 * experts + 1}, DType::int32);
  const std::int64_t blocks = (tokens + kTokensOfBlock - 1) / kTokensOfBlock;
  const Tensor workspace = eager::empty(runtime, {experts, blocks}, DType::int32);
  return map;
}

Tensor rows_like(const Tensor& like, std::int64_t rows) {
  return eager::empty(like.runtime(), {rows, like.size(1)}, like.dtype());
}

}  // namespace

PermutedRows permute_by_map(const Tensor& tokens, const Tensor& probs, std::int64_t rows) {
  Runtime& runtime = tokens.runtime();
  const auto node = eager::begin_node(runtime, "permute_mask_mapBackward", {tokens, probs});
  PermutedRows result;
  {
    const eager::NoGrad no_grad(runtime);
    result.map = row_id_map(probs);
    const OpScope op(runtime, "permute_with_mask_map");
    result.rows = rows_like(tokens, rows);
    result.probs = eager::empty(runtime, {rows}, probs.dtype());
    tune(runtime, "permute_with_mask_map of probs");
  }
  eager::finish_node(node, result.rows, [sizes = probs.sizes()](Node& own, TensorList& grads) {
    Runtime& its = *own.runtime;
    Tensor of_map = eager::empty_like(own.unpack(0));  // autograd makes zeros of what has none
    const OpScope op(its, "unpermute_with_mask_map");
    Tensor of_tokens = rows_like(grads[0], sizes[0]);
    Tensor of_probs = eager::empty(its, sizes, grads[1].dtype());
    tune(its, "unpermute_with_mask_map of probs");
    eager::end_of_frame(grads[1], of_map, grads[0]);
    return TensorList{std::move(of_tokens), std::move(of_probs)};
  });
  if (node) {
    node->save(result.map);
    node->add_output(result.probs);
  }
  return result;
}

Tensor unpermute_by_map(const Tensor& rows, const Tensor& map) {
  Runtime& runtime = rows.runtime();
  const auto node = eager::begin_node(runtime, "unpermute_mask_mapBackward", {rows});
  Tensor result;
  {
    const OpScope op(runtime, "unpermute_with_mask_map");
    result = rows_like(rows, map.size(0));
    tune(runtime, "unpermute_with_mask_map");
  }
  eager::finish_node(node, result, [own_rows = rows.size(0)](Node& own, TensorList& grads) {
    const OpScope op(*own.runtime, "permute_with_mask_map");
    Tensor of_rows = rows_like(grads[0], own_rows);
    tune(*own.runtime, "permute_with_mask_map");
    return TensorList{std::move(of_rows)};
  });
  if (node) {
    node->save(map);
  }
  return result;
}

PermutedRows sort_chunks(const Tensor& rows, const Tensor& probs) {
  Runtime& runtime = rows.runtime();
  const auto node = eager::begin_node(runtime, "sort_chunks_by_mapBackward", {rows, probs});
  PermutedRows result;
  {
    const eager::NoGrad no_grad(runtime);
    const OpScope op(runtime, "sort_chunks_by_map");
    result.map = eager::empty(runtime, {rows.size(0)}, DType::int32);
    result.rows = rows_like(rows, rows.size(0));
    if (probs.defined()) {
      result.probs = eager::empty(runtime, probs.sizes(), probs.dtype());
    }
    tune(runtime, probs.defined() ? "sort_chunks_by_map of probs" : "sort_chunks_by_map");
  }
  eager::finish_node(node, result.rows,
                     [has_probs = probs.defined()](Node& own, TensorList& grads) {
                       Tensor of_map = eager::empty_like(own.unpack(0));
                       const OpScope op(*own.runtime, "sort_chunks_by_map");
                       Tensor of_rows = rows_like(grads[0], grads[0].size(0));
                       Tensor of_probs = has_probs ? eager::empty_like(grads[1]) : Tensor{};
                       if (has_probs) {
                         grads[1].reset();
                       }
                       eager::end_of_frame(of_map, grads[0]);
                       return TensorList{std::move(of_rows), std::move(of_probs)};
                     });
  if (node) {
    node->save(result.map);
    if (probs.defined()) {
      node->add_output(result.probs);
    }
  }
  return result;
}

}  // namespace highwater::megatron
