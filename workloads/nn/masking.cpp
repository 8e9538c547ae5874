#include "workloads/nn/masking.hpp"

#include <functional>
#include <initializer_list>
#include <limits>
#include <utility>

#include "traces/error.hpp"
#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::nn {

namespace {

using eager::NoGrad;

// find_packed_sequence_indices: are several sequences packed into one row? Positions with a gap are
// taken for that; others cost these blocks for the check.
Tensor find_packed_sequence_indices(Tensor position_ids, bool has_gap) {
  const std::int64_t end = std::numeric_limits<std::int64_t>::max();
  Tensor first = eager::add(eager::slice(position_ids, 1, 0, 1), -1.0);
  Tensor joined = eager::cat(std::initializer_list<Tensor>{first, position_ids}, 1);
  Tensor difference = eager::sub(eager::slice(joined, 1, 1, end), eager::slice(joined, 1, 0, -1));
  joined.reset();
  Tensor changed = eager::compare("ne", {difference});
  Tensor packed = eager::cumsum(changed, -1);
  changed.reset();
  Tensor last_is_zero =
      eager::compare("eq", {eager::select(eager::slice(packed, 0, 0, end), 1, -1)});
  Tensor all = eager::reduce_plain("all", last_is_zero, {}, eager::KeepDim::no, DType::boolean);
  all.runtime().synchronize();  // the host reads it
  eager::end_of_frame(last_is_zero, all);
  Tensor result = has_gap ? packed : Tensor{};
  eager::end_of_frame(position_ids, first, difference, packed);
  return result;
}

// padding_mask.all(), which is padding_mask.sum() == padding_mask.numel() since 5.14 (fast_all).
Tensor is_full(const Tensor& padding) {
  if (padding.runtime().transformers < Release{5, 14}) {
    return eager::reduce_plain("all", padding, {}, eager::KeepDim::no, DType::boolean);
  }
  const Tensor count = eager::sum(padding, {}, eager::KeepDim::no);
  return eager::compare("eq", {count});
}

void ask_whether_full(const Tensor& padding) {
  const Tensor answer = is_full(padding);
  padding.runtime().synchronize();  // the host reads it
}

// _ignore_causal_mask_sdpa: the mask's kind is known, but the question costs these blocks. Since
// 5.14 the part that the queries see is asked about, too, which here is all of it.
void look_for_padding(const Tensor& padding, AttentionMask mask) {
  ask_whether_full(padding);
  if (mask == AttentionMask::padded && padding.runtime().transformers >= Release{5, 14}) {
    ask_whether_full(eager::slice(padding, 1, 0, padding.size(1)));
  }
}

Tensor offset_arange(Runtime& runtime, std::int64_t count) {
  const Tensor plain = eager::arange(runtime, count);
  return eager::add(plain, 0.0);
}

struct MaskShape {
  std::int64_t batch;
  std::int64_t length;
};

/// Rows that seem to hold several sequences: which one a token is of, and its position.
struct PackedRows {
  Tensor sequences;  ///< undefined: they do not
  Tensor positions;
};

Tensor between(const Tensor& index, std::size_t axis) {
  Dims sizes{1, 1, 1, 1};
  sizes[axis] = index.sizes()[0];
  Tensor view = index;
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != axis) {
      view = eager::unsqueeze(view, static_cast<std::int64_t>(i));
    }
  }
  return view;
}

// A mask function: gives a boolean for every pair of a query and a key.
using MaskFunction = std::function<Tensor()>;

// and_masks: starts from a true scalar; each intermediate result dies when the next one exists.
Tensor and_masks(Runtime& runtime, std::initializer_list<MaskFunction> functions) {
  Tensor result = eager::empty(runtime, {}, DType::boolean);
  for (const auto& function : functions) {
    Tensor allowed = function();
    Tensor both = eager::compare("bitwise_and", {result, allowed});
    allowed.reset();
    result = std::move(both);
  }
  return result;
}

Tensor in_window(const Tensor& q, const Tensor& k) {
  const Tensor lower = eager::add(q, -1.0);
  return eager::compare("gt", {k, lower});
}

// padding_mask[batch, keys]: indices of different strides are copied (TensorAdvancedIndexing.cpp).
Tensor columns_of(const Tensor& padding, const Tensor& batch, const Tensor& keys) {
  const Dims sizes = eager::broadcast(batch.sizes(), keys.sizes());
  const Tensor rows = eager::contiguous(eager::expand(batch, sizes));
  const Tensor columns = eager::contiguous(eager::expand(keys, sizes));
  return eager::index_pair(padding, rows, columns);
}

// packed_sequence_compatibility_function: the same sequence, and causal by the real positions.
Tensor packed_mask(Runtime& runtime, const PackedRows& rows, const Tensor& batch, const Tensor& q,
                   const Tensor& k) {
  const auto compared = [&](const char* op, const Tensor& table) {
    const Tensor queries = columns_of(table, batch, q);
    const Tensor keys = columns_of(table, batch, k);
    return eager::compare(op, {queries, keys});
  };
  return and_masks(runtime, {[&] { return compared("eq", rows.sequences); },
                             [&] { return compared("le", rows.positions); }});
}

// sdpa_mask without the early exit: index tensors, comparison, padding.
Tensor boolean_mask(Runtime& runtime, const MaskShape& shape, const MaskRequest& request,
                    const Tensor& padding, const PackedRows& packed) {
  Tensor batch = eager::arange(runtime, shape.batch);
  Tensor head = eager::arange(runtime, 1);
  Tensor queries = offset_arange(runtime, shape.length);
  Tensor keys = offset_arange(runtime, shape.length);
  Tensor mask;
  {
    const Tensor q = between(queries, 2);
    const Tensor k = between(keys, 3);
    const auto causal = [&] { return eager::compare("le", {k, q}); };
    const auto windowed = [&] {
      return and_masks(runtime, {[&] { return in_window(q, k); }, causal});
    };
    const auto separated = [&] { return packed_mask(runtime, packed, between(batch, 0), q, k); };
    const MaskFunction pattern = packed.sequences.defined() ? MaskFunction(separated)
                                 : request.sliding_window   ? MaskFunction(windowed)
                                                            : MaskFunction(causal);
    const auto padded = [&] { return columns_of(padding, between(batch, 0), k); };
    mask = padding.defined() ? and_masks(runtime, {pattern, padded}) : pattern();
  }
  mask = eager::expand(mask, {shape.batch, -1, shape.length, shape.length});
  eager::end_of_frame(batch, head, queries, keys);
  return mask;
}

// eager_mask: 0 where attention is allowed, the dtype's minimum elsewhere.
Tensor float_mask(Runtime& runtime, Tensor mask, DType dtype) {
  Tensor zero = eager::empty(runtime, {}, dtype);
  Tensor minimum = eager::empty(runtime, {}, dtype);
  Tensor result = eager::where(mask, zero, minimum);
  eager::end_of_frame(minimum, zero, mask);
  return result;
}

// accelerate 1.15, big_modeling.py _attach_context_parallel_hooks; torch 2.15,
// _context_parallel/_attention.py: attn_bias is not supported.
void refuse_shared_windows(const TrainingPlan& plan, bool makes_mask) {
  if (runs_context_parallel(plan) && (makes_mask || runs_accelerate(plan.framework))) {
    throw InputError("plan", "cp",
                     "context_parallel() refuses the mask of layers that see a window of tokens",
                     "use a model without sliding windows");
  }
}

}  // namespace

Tensor create_causal_mask(const ModelContext& context, const MaskRequest& request) {
  Runtime& runtime = context.runtime;
  const MaskShape shape{request.inputs_embeds.size(0), request.inputs_embeds.size(1)};
  Tensor padding;
  PackedRows packed;
  if (request.attention_mask.defined()) {
    padding = eager::to_dtype(request.attention_mask, DType::boolean);
  } else if (request.position_ids.defined() && !request.has_cache) {
    packed.positions = eager::expand(request.position_ids, {shape.batch, -1});
    packed.sequences =
        find_packed_sequence_indices(packed.positions, has_distant_chunks(context.plan));
  }
  const bool windowed = request.sliding_window && shape.length >= *request.sliding_window;
  if (request.sliding_window) {
    refuse_shared_windows(context.plan, windowed);
  }
  const AttentionMask kind = context.plan.attention_mask;
  if (!request.always && !context.is_eager() && !windowed && !packed.sequences.defined()) {
    if (padding.defined()) {
      look_for_padding(padding, kind);
    }
    if (!padding.defined() || kind != AttentionMask::padded) {
      return {};
    }
  }
  Tensor mask = boolean_mask(runtime, shape, request, padding, packed);
  return context.is_eager() ? float_mask(runtime, std::move(mask), request.inputs_embeds.dtype())
                            : mask;
}

void look_for_padding(const Tensor& attention_mask) {
  const Tensor padding = eager::to_dtype(attention_mask, DType::boolean);
  eager::reduce_plain("all", padding, {}, eager::KeepDim::no, DType::boolean);
  padding.runtime().synchronize();  // the host reads it
}

}  // namespace highwater::nn
