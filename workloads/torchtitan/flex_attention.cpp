#include "workloads/torchtitan/flex_attention.hpp"

#include "workloads/eager/node.hpp"
#include "workloads/eager/output_cache.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::torchtitan {

using eager::Dims;
using eager::Node;
using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

namespace {

constexpr std::int64_t kBlock = 128;  // _DEFAULT_SPARSE_BLOCK_SIZE

Tensor statistics(const Tensor& query) {
  return eager::empty(query.runtime(), {query.size(0), query.size(1), query.size(2)}, DType::fp32);
}

// The compiled backward takes the saved tensors over and drops each after its last use.
TensorList compiled_backward(Node& node, TensorList& /*grads*/) {
  Runtime& runtime = *node.runtime;
  Tensor query = node.unpack(0);
  Tensor key = node.unpack(1);
  Tensor value = node.unpack(2);
  Tensor out = node.unpack(3);
  Tensor logsumexp = node.unpack(4);
  for (auto& saved : node.saved) {
    saved.release();
  }
  const eager::OpScope op(runtime, "flex_attention_backward", 2);
  Tensor delta = statistics(query);
  out.reset();
  TensorList result(3);
  result[0] = eager::empty_like(query);
  result[2] = eager::empty_like(value);
  result[1] = eager::empty_like(key);
  eager::end_of_frame(delta, logsumexp, query, key, value);
  return result;
}

// What the compiled forward returns: the result, and what its backward needs, inputs among it.
TensorList compiled_forward(const Tensor& query, const Tensor& key, const Tensor& value) {
  const eager::OpScope op(query.runtime(), "flex_attention");
  Tensor logsumexp = statistics(query);
  Tensor max_scores = statistics(query);
  Tensor out = eager::empty_like(query);
  max_scores.reset();
  return {query, key, value, out, logsumexp};
}

Tensor compiled_flex_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  Runtime& runtime = query.runtime();
  const auto node = eager::begin_node(runtime, "CompiledFunctionBackward", {query, key, value});
  TensorList outputs;
  {
    const eager::NoGrad no_grad(runtime);
    outputs = eager::kept_outputs(runtime, "inductor_compiled_code",
                                  [&] { return compiled_forward(query, key, value); });
  }
  Tensor out = eager::alias(outputs[3]);
  eager::finish_node(node, out, compiled_backward);
  if (node) {
    for (const Tensor& output : outputs) {
      node->save(output);
    }
  }
  return out;
}

Tensor integers(Runtime& runtime, const Dims& sizes) {
  return eager::empty(runtime, sizes, DType::int32);
}

// torch.where(condition, a, b) of integers, of which `made` are made for it.
Tensor chosen(Runtime& runtime, const Dims& sizes, int made) {
  Tensor first = integers(runtime, sizes);
  Tensor second = made > 1 ? integers(runtime, sizes) : Tensor{};
  Tensor value = integers(runtime, sizes);
  eager::end_of_frame(first, second);
  return value;
}

// The same as indices.
Tensor chosen_places(Runtime& runtime, const Dims& sizes, int made) {
  const Tensor value = chosen(runtime, sizes, made);
  return eager::to_dtype(value, DType::int64);
}

// Its document's number, for each token.
Tensor number_documents(Runtime& runtime, const Dims& sizes) {
  Tensor counted = [&] {
    const Tensor starts = integers(runtime, sizes);
    return eager::cumsum(starts, -1);
  }();
  Tensor narrow = integers(runtime, sizes);
  counted.reset();
  return integers(runtime, sizes);
}

// Of a single sequence: where documents start, with the number of each token's document.
BlockMask starts_of_documents(const Tensor& positions) {
  Runtime& runtime = positions.runtime();
  const Dims tokens{positions.size(1)};
  Tensor document_starts = eager::compare("eq", {eager::select(positions, 0, 0)});
  Tensor document_id = number_documents(runtime, tokens);
  Tensor token_idx = integers(runtime, tokens);
  Tensor offsets = integers(runtime, {(tokens[0] + kBlock) / kBlock * kBlock});
  {
    const Tensor places = chosen_places(runtime, tokens, 1);
    const Tensor values = chosen(runtime, tokens, 1);
  }
  eager::end_of_frame(document_starts, token_idx);
  return {document_id, offsets};
}

// Of several sequences: where each token's document ends.
BlockMask ends_of_documents(const Tensor& positions) {
  Runtime& runtime = positions.runtime();
  const Dims& sizes = positions.sizes();
  Tensor document_starts = eager::compare("eq", {positions});
  Tensor document_id = number_documents(runtime, sizes);
  Tensor token_idx = integers(runtime, {sizes[1]});
  Tensor next_doc_start = integers(runtime, sizes);
  Tensor next_doc = [&] {
    const Tensor is_later = eager::compare("gt", {document_id});
    return eager::compare("and", {document_starts, is_later});
  }();
  {
    Tensor places = chosen_places(runtime, sizes, 2);
    const Tensor values = chosen(runtime, sizes, 1);
    places.reset();
  }
  Tensor doc_end_by_token = [&] {
    Tensor gathered = [&] {
      const Tensor places = eager::to_dtype(document_id, DType::int64);
      return integers(runtime, sizes);
    }();
    return integers(runtime, sizes);
  }();
  eager::end_of_frame(document_starts, token_idx, next_doc_start, next_doc, document_id);
  return {doc_end_by_token};
}

// Stable argsort along the last dimension, by segments.
Tensor sorted_indices(Runtime& runtime, const Dims& sizes) {
  const Tensor values = integers(runtime, sizes);
  Tensor indices = eager::empty(runtime, sizes, DType::int64);
  integers(runtime, {sizes[0] * sizes[2]});  // where segments begin
  return indices;
}

/// One kind of blocks: partial ones, or full ones.
struct BlockKind {
  Tensor dense;      ///< [batch, rows, columns + 1]
  Tensor q_indices;  ///< takes the place of the dense mask of blocks
};

// The lists of keys for each query, then the transposed ones.
void add_lists(Runtime& runtime, const Dims& rows, const Dims& blocks, BlockKind& kind,
               BlockMask& mask) {
  {
    const Tensor sorted = sorted_indices(runtime, blocks);
    mask.push_back(integers(runtime, rows));
    mask.push_back(integers(runtime, blocks));
  }
  mask.push_back(integers(runtime, rows));
  kind.dense.reset();
  sorted_indices(runtime, blocks);
  mask.push_back(kind.q_indices);
}

// create_block_mask for a part of the queries.
void add_block_lists(const Tensor& positions, int parts, BlockMask& mask) {
  Runtime& runtime = positions.runtime();
  const eager::OpScope op(runtime, "create_block_mask", 0);
  const std::int64_t columns = (positions.size(1) + kBlock - 1) / kBlock;
  const std::int64_t count = columns / parts;
  const Dims rows{positions.size(0), 1, count};
  const Dims blocks{positions.size(0), 1, count, columns};
  const Dims dense{positions.size(0), count, columns + 1};
  BlockKind partial{integers(runtime, dense), {}};
  BlockKind full{integers(runtime, dense), {}};
  partial.q_indices = integers(runtime, blocks);
  full.q_indices = integers(runtime, blocks);
  add_lists(runtime, rows, blocks, partial, mask);
  add_lists(runtime, rows, blocks, full, mask);
}

}  // namespace

BlockMask document_mask(const Tensor& positions) {
  BlockMask mask =
      positions.size(0) == 1 ? starts_of_documents(positions) : ends_of_documents(positions);
  add_block_lists(positions, 1, mask);
  return mask;
}

// The mask function still captures what the whole mask's does.
BlockMask shared_mask(BlockMask mask, const Tensor& positions, int ranks) {
  constexpr std::size_t kLists = 8;
  BlockMask part(mask.begin(), mask.end() - kLists);
  add_block_lists(positions, ranks, part);
  return part;
}

Tensor flex_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  Tensor q = eager::transpose(query, 1, 2);
  Tensor k = eager::transpose(key, 1, 2);
  Tensor v = eager::transpose(value, 1, 2);
  Tensor out = compiled_flex_attention(q, k, v);
  Tensor result = eager::transpose(out, 1, 2);
  eager::end_of_frame(q, k, v, out);
  return result;
}

}  // namespace highwater::torchtitan
