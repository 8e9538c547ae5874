#include "workloads/models/attention.hpp"

#include <utility>

#include "workloads/nn/checkpoint.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::models {

// hidden_states[:, :, None, :, :]: each `:` is a slice of its own.
Tensor repeat_kv(const Tensor& hidden_states, std::int64_t groups) {
  if (groups == 1) {
    return hidden_states;
  }
  const eager::Dims sizes = hidden_states.sizes();
  Tensor spread = eager::slice(eager::slice(hidden_states, 0, 0, eager::kEnd), 1, 0, eager::kEnd);
  spread = eager::unsqueeze(spread, 2);
  spread = eager::slice(eager::slice(spread, 3, 0, eager::kEnd), 4, 0, eager::kEnd);
  spread = eager::expand(spread, {sizes[0], sizes[1], groups, sizes[2], sizes[3]});
  return eager::reshape(spread, {sizes[0], sizes[1] * groups, sizes[2], sizes[3]});
}

namespace {

// torch.arange(queries)[:, None] >= torch.arange(keys)[None, :]
Tensor lower_triangle(eager::Runtime& runtime, std::int64_t queries, std::int64_t keys) {
  Tensor rows = eager::unsqueeze(eager::arange(runtime, queries), 1);
  Tensor columns = eager::unsqueeze(eager::arange(runtime, keys), 0);
  const Tensor visible = eager::compare("ge", {rows, columns});
  eager::end_of_frame(rows, columns);
  return eager::view(visible, {1, 1, queries, keys});
}

// create_position_bias_mask: the bias, with the least number where causality hides a key.
Tensor position_bias_mask(const AttentionCall& call, bool is_causal) {
  eager::Runtime& runtime = call.query.runtime();
  Tensor mask = call.bias;
  Tensor visible;
  if (is_causal) {
    visible = lower_triangle(runtime, call.query.size(2), call.key.size(2));
    const Tensor least = eager::empty(runtime, {}, call.bias.dtype());
    mask = eager::where(visible, call.bias, least);
  }
  Tensor result = runtime.transformers < Release{5, 20} ? mask : eager::contiguous(mask);
  eager::end_of_frame(visible, mask);
  return result;
}

// transformers' integrations/sdpa_attention.py, from 4.48 on one function for all models.
constexpr Release kFirstShared{4, 48};
constexpr Release kFirstGroupedKernel{4, 54};  // use_gqa_in_sdpa
constexpr Release kFirstUncopied{4, 56};       // without contiguous() of queries, keys and values

// use_gqa_in_sdpa: wider heads, and values narrower than keys, are repeated (Gemma 4).
bool has_grouped_kernel(const AttentionCall& call) {
  constexpr std::int64_t kWidest = 256;
  const std::int64_t width = call.key.size(-1);
  return call.query.runtime().transformers >= kFirstGroupedKernel &&
         (call.groups == 1 || (width == call.value.size(-1) && width <= kWidest));
}

// Before 4.48 the classes of LLaMA's relatives copied beside a mask (4.46, modeling_llama.py,
// LlamaSdpaAttention), the others only for a PyTorch before 2.2.
bool copies_operands(const AttentionCall& call) {
  const Release transformers = call.query.runtime().transformers;
  return transformers < kFirstShared ? call.is_grouped && call.mask.defined()
                                     : transformers < kFirstUncopied;
}

AttentionResult sdpa(AttentionCall call) {
  // accelerate 1.15, big_modeling.py _attach_context_parallel_hooks: attention sees no mask.
  if (call.query.runtime().shared_attention != nullptr) {
    call.mask.reset();
  }
  const bool grouped_kernel = call.is_grouped && !call.mask.defined() && has_grouped_kernel(call);
  if (call.is_grouped && !grouped_kernel) {
    call.key = repeat_kv(call.key, call.groups);
    call.value = repeat_kv(call.value, call.groups);
  }
  if (copies_operands(call)) {
    for (Tensor* const each : {&call.query, &call.key, &call.value}) {
      *each = eager::contiguous(*each);
    }
  }
  bool is_causal = call.is_causal && call.query.size(2) > 1 && !call.mask.defined();
  if (call.bias.defined()) {
    call.mask = position_bias_mask(call, is_causal);
    is_causal = false;
  }
  Tensor output = eager::scaled_dot_product_attention(
      call.query, call.key, call.value, call.mask,
      {.dropout = call.dropout, .is_causal = is_causal, .enable_gqa = grouped_kernel});
  output = eager::contiguous(eager::transpose(output, 1, 2));
  eager::end_of_frame(call.query, call.key, call.value, call.mask, call.bias);
  return {output, {}};
}

AttentionResult exchanged_sdpa(AttentionCall call) {
  const auto& exchange = call.query.runtime().exchanged_attention;
  if (!exchange) {
    return sdpa(std::move(call));
  }
  AttentionCall own = call;
  eager::end_of_frame(own.query, own.key, own.value, own.mask);  // which it discards
  Tensor output = exchange({call.query, call.key, call.value}, [&own](eager::AttentionOperands in) {
    AttentionCall inner = own;
    inner.query = std::move(in.query);
    inner.key = std::move(in.key);
    inner.value = std::move(in.value);
    return sdpa(std::move(inner)).output;
  });
  eager::end_of_frame(call.query, call.key, call.value, call.mask);
  return {output, {}};
}

/// What a softmax summed, and what that makes of sinks: the variables of Granite SWA's function.
struct SinkScale {
  Tensor sums;
  Tensor scale;
};

// sigmoid(logsumexp(weights) - sinks) in fp32
SinkScale sink_scale(const Tensor& weights, const Tensor& sinks) {
  SinkScale result;
  result.sums = eager::logsumexp(weights, -1);
  Tensor difference = eager::sub(result.sums, eager::view(sinks, {1, -1, 1}));
  {
    const Tensor wide = eager::to_dtype(difference, DType::fp32);
    difference.reset();
    result.scale = eager::sigmoid(wide);
  }
  return result;
}

AttentionResult eager_fp32(const nn::ModelContext& context, AttentionCall call) {
  Tensor keys = repeat_kv(call.key, call.groups);
  Tensor values = repeat_kv(call.value, call.groups);
  Tensor weights = eager::matmul(call.query, eager::transpose(keys, 2, 3));
  weights = eager::mul(weights, 1.0);
  if (call.caps_scores) {
    weights = eager::div(weights, 1.0);
    weights = eager::tanh(weights);
    weights = eager::mul(weights, 1.0);
  }
  if (call.mask.defined()) {
    weights = eager::add(weights, call.mask);
  }
  SinkScale sinks = call.sinks.defined() ? sink_scale(weights, call.sinks) : SinkScale{};
  {
    Tensor wide = eager::softmax(weights, -1, DType::fp32);
    Tensor narrow = eager::to_dtype(wide, call.query.dtype());
    wide.reset();
    weights = std::move(narrow);
  }
  weights = nn::plain_dropout(context, weights, call.dropout);
  Tensor output = eager::matmul(weights, values);
  if (sinks.scale.defined()) {
    Tensor factor = eager::to_dtype(eager::unsqueeze(sinks.scale, -1), output.dtype());
    Tensor scaled = eager::mul(output, factor);
    factor.reset();
    output = std::move(scaled);
  }
  output = eager::contiguous(eager::transpose(output, 1, 2));
  eager::end_of_frame(call.query, call.key, call.value, call.mask, keys, values);
  eager::end_of_frame(sinks.sums, sinks.scale);
  return {output, weights};
}

// torch.cat([weights, sinks], dim=-1), sinks spread over batch and queries
Tensor with_sink_column(const Tensor& weights, const Tensor& sinks) {
  const eager::Dims sizes = weights.sizes();
  const Tensor column =
      eager::expand(eager::view(sinks, {1, -1, 1, 1}), {sizes[0], -1, sizes[2], -1});
  return eager::cat(std::initializer_list<Tensor>{weights, column}, -1);
}

// eager_attention_forward of MiMo-V2: the scores below their greatest, in their own type.
AttentionResult eager_shifted(const nn::ModelContext& context, AttentionCall call) {
  Tensor keys = repeat_kv(call.key, call.groups);
  Tensor values = repeat_kv(call.value, call.groups);
  Tensor weights = eager::matmul(call.query, eager::transpose(keys, 2, 3));
  weights = eager::mul(weights, 1.0);
  if (call.mask.defined()) {
    weights = eager::add(weights, call.mask);
  }
  if (call.sinks.defined()) {
    weights = with_sink_column(weights, call.sinks);
  }
  {
    Tensor greatest = eager::max(weights, -1, eager::KeepDim::yes).values;
    Tensor shifted = eager::sub(weights, greatest);
    greatest.reset();
    weights = std::move(shifted);
  }
  Tensor shares = eager::softmax(weights, -1, weights.dtype());
  if (call.sinks.defined()) {
    shares = eager::slice(shares, -1, 0, -1);
  }
  {
    const Tensor kept = nn::plain_dropout(context, shares, call.dropout);
    weights = eager::to_dtype(kept, values.dtype());
  }
  Tensor output = eager::matmul(weights, values);
  output = eager::contiguous(eager::transpose(output, 1, 2));
  eager::end_of_frame(call.query, call.key, call.value, call.mask, keys, values, shares);
  return {output, weights};
}

}  // namespace

AttentionResult core_attention(const nn::ModelContext& context, AttentionCall call,
                               const AttentionFunction& attend) {
  const auto& checkpoint = context.plan.checkpoint;
  if (!context.training || checkpoint.kind != CheckpointKind::selective_attention) {
    return attend(std::move(call));
  }
  std::vector<Tensor> arguments{call.query, call.key, call.value, call.mask};
  eager::end_of_frame(call.query, call.key, call.value, call.mask);
  const auto segment = [call, attend](const std::vector<Tensor>& in) {
    AttentionCall again = call;
    again.query = in[0];
    again.key = in[1];
    again.value = in[2];
    again.mask = in[3];
    AttentionResult result = attend(std::move(again));
    return result.weights.defined() ? eager::TensorList{result.output, result.weights}
                                    : eager::TensorList{result.output};
  };
  const auto results =
      checkpoint.reentrant
          ? nn::checkpoint_reentrant(context.runtime, segment, std::move(arguments))
          : nn::checkpoint_nonreentrant(context.runtime, segment, std::move(arguments));
  return {results[0], results.size() > 1 ? results[1] : Tensor{}};
}

Tensor causal_sdpa(const nn::ModelContext& context, AttentionCall call) {
  const auto attend = [](const AttentionCall& own) -> AttentionResult {
    return {
        eager::scaled_dot_product_attention(own.query, own.key, own.value, {}, {.is_causal = true}),
        {}};
  };
  return core_attention(context, std::move(call), attend).output;
}

AttentionResult sdpa_attention(const nn::ModelContext& context, AttentionCall call) {
  return core_attention(context, std::move(call), exchanged_sdpa);
}

AttentionResult eager_attention_fp32(const nn::ModelContext& context, AttentionCall call) {
  return core_attention(context, std::move(call), [&context](AttentionCall own) {
    return own.shifts_scores ? eager_shifted(context, std::move(own))
                             : eager_fp32(context, std::move(own));
  });
}

}  // namespace highwater::models
