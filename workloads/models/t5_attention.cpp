#include "workloads/models/t5_attention.hpp"

#include <initializer_list>
#include <utility>

#include "workloads/plan/training_plan.hpp"

namespace highwater::models {

namespace {

bool is_checkpointing(const nn::ModelContext& context) {
  const auto kind = context.plan.checkpoint.kind;
  return context.training && (kind == CheckpointKind::full || kind == CheckpointKind::every_n);
}

Tensor integral(const char* op, std::initializer_list<Tensor> operands) {
  return eager::pointwise(op, operands, DType::int64);
}

// The buckets of distances that share one with others: by their logarithm, up to the last bucket.
Tensor large_buckets(const Tensor& distance) {
  Tensor value = eager::pointwise("_to_copy", {distance}, DType::fp32);
  for (const char* op : {"div", "log", "div", "mul"}) {
    value = eager::pointwise(op, {value}, DType::fp32);
  }
  const Tensor large = [&value] {
    const Tensor number = integral("_to_copy", {value});
    value.reset();
    return integral("add", {number});
  }();
  const Tensor most = integral("full_like", {large});
  return integral("minimum", {large, most});
}

// T5Attention._relative_position_bucket; `relative` is the caller's.
Tensor position_bucket(Tensor relative, bool bidirectional) {
  Tensor buckets;
  if (bidirectional) {
    Tensor is_after = eager::compare("gt", {relative});
    Tensor number = eager::to_dtype(is_after, DType::int64);
    is_after.reset();
    Tensor scaled = integral("mul", {number});
    number.reset();
    buckets = integral("add", {scaled});
    scaled.reset();
    relative = integral("abs", {relative});
  } else {
    Tensor zeros = integral("zeros_like", {relative});
    const Tensor least = integral("minimum", {relative, zeros});
    zeros.reset();
    relative = integral("neg", {least});
  }
  Tensor is_small = eager::compare("lt", {relative});
  Tensor large = large_buckets(relative);
  {
    const Tensor chosen = integral("where", {is_small, relative, large});
    if (!bidirectional) {
      buckets = integral("add", {chosen});
    }
  }
  eager::end_of_frame(relative, is_small, large);
  return buckets;
}

Tensor probabilities(const Tensor& scores) {
  Tensor wide = eager::to_dtype(scores, DType::fp32);
  const Tensor result = eager::softmax(wide, -1, std::nullopt);
  wide.reset();
  return eager::to_dtype(result, scores.dtype());
}

}  // namespace

T5Attention::T5Attention(Module* parent, std::string name, const T5Config& config, T5Role role,
                         nn::Bias relative_bias)
    : Module(parent, std::move(name)),
      head_dim_(config.d_kv),
      is_decoder_(role == T5Role::decoder),
      dropout_(config.dropout_rate),
      q_(this, "q", config.d_model, config.num_heads * config.d_kv, nn::Bias::none),
      k_(this, "k", config.d_model, config.num_heads * config.d_kv, nn::Bias::none),
      v_(this, "v", config.d_model, config.num_heads * config.d_kv, nn::Bias::none),
      o_(this, "o", config.num_heads * config.d_kv, config.d_model, nn::Bias::none) {
  if (relative_bias == nn::Bias::present) {
    relative_attention_bias_ = std::make_unique<nn::Embedding>(
        this, "relative_attention_bias", config.relative_attention_num_buckets, config.num_heads);
  }
}

T5Result T5Attention::operator()(const Tensor& hidden_states, const Tensor& mask,
                                 const Tensor& source, Tensor bias,
                                 const nn::CachePtr& cache) const {
  const nn::InModule scope(*this);
  Tensor query = heads(q_(hidden_states));
  const Tensor& current = source.defined() ? source : hidden_states;
  Tensor key = heads(k_(current));
  Tensor value = heads(v_(current));
  if (cache) {
    cache->update(key, value);
  }
  if (runtime().transformers >= kUnpacksResults) {
    return attended(query, key, value, mask, std::move(bias), source);
  }
  Tensor scores = eager::matmul(query, eager::transpose(key, 3, 2));
  if (!bias.defined()) {
    bias = make_bias(scores, mask);
  }
  eager::add_(scores, bias);
  Tensor weights = probabilities(scores);
  weights = nn::functional_dropout(context(), weights, dropout_);
  Tensor output = eager::matmul(weights, value);
  output = eager::contiguous(eager::transpose(output, 1, 2));
  output = eager::reshape(output, {output.size(0), output.size(1), -1});
  output = o_(output);
  eager::end_of_frame(query, key, value, scores, weights);
  return {std::move(output), std::move(bias), {}};
}

Tensor T5Attention::heads(const Tensor& states) const {
  return eager::transpose(eager::view(states, {states.size(0), states.size(1), -1, head_dim_}), 1,
                          2);
}

// Since 5.15: the bias is made first, and the attention function takes it.
T5Result T5Attention::attended(Tensor& query, Tensor& key, Tensor& value, const Tensor& mask,
                               Tensor bias, const Tensor& source) const {
  if (!bias.defined()) {
    bias = relative_attention_bias_ ? computed_bias(query.size(2), key.size(2))
                                    : zero_bias(query, key.size(2));
  }
  AttentionCall call{.query = query,
                     .key = key,
                     .value = value,
                     .mask = mask,
                     .bias = bias,
                     .dropout = context().training ? context().dropout(dropout_) : 0.0,
                     .is_causal = is_decoder_ && !source.defined()};
  AttentionResult result = context().is_eager() ? eager_scores(std::move(call))
                                                : sdpa_attention(context(), std::move(call));
  Tensor& output = result.output;
  output = eager::reshape(output, {output.size(0), output.size(1), -1});
  output = o_(eager::contiguous(output));
  eager::end_of_frame(query, key, value);
  return {std::move(output), std::move(bias), std::move(result.weights)};
}

// eager_attention_forward of the modelling file.
AttentionResult T5Attention::eager_scores(AttentionCall call) const {
  Tensor weights;
  {
    Tensor plain = eager::matmul(call.query, eager::transpose(call.key, 2, 3));
    weights = eager::mul(plain, 1.0);
  }
  weights = eager::add(weights, call.bias);
  if (call.mask.defined()) {
    weights = eager::add(weights, call.mask);
  }
  weights = eager::softmax(weights, -1, std::nullopt);
  weights = nn::plain_dropout(context(), weights, call.dropout);
  Tensor output = eager::matmul(weights, call.value);
  output = eager::contiguous(eager::transpose(output, 1, 2));
  eager::end_of_frame(call.query, call.key, call.value, call.mask, call.bias);
  return {output, weights};
}

Tensor T5Attention::make_bias(const Tensor& scores, const Tensor& mask) const {
  Tensor bias = relative_attention_bias_ ? computed_bias(scores.size(2), scores.size(3))
                                         : zero_bias(scores, scores.size(3));
  if (mask.defined()) {
    bias = eager::add(bias, mask);
  }
  return bias;
}

Tensor T5Attention::zero_bias(const Tensor& like, std::int64_t keys) const {
  Tensor bias = eager::empty(runtime(), {1, like.size(1), like.size(2), keys}, like.dtype());
  bias->requires_grad = is_checkpointing(context());
  return bias;
}

Tensor T5Attention::computed_bias(std::int64_t queries, std::int64_t keys) const {
  Tensor context_position = shifted_range(queries);
  Tensor memory_position = eager::unsqueeze(eager::arange(runtime(), keys), 0);
  Tensor relative = eager::pointwise("sub", {memory_position, context_position}, DType::int64);
  Tensor buckets = position_bucket(relative, !is_decoder_);
  Tensor values = (*relative_attention_bias_)(buckets);
  values = eager::unsqueeze(eager::permute(values, {2, 0, 1}), 0);
  eager::end_of_frame(context_position, memory_position, relative, buckets);
  return values;
}

Tensor T5Attention::shifted_range(std::int64_t count) const {
  const Tensor column = eager::unsqueeze(eager::arange(runtime(), count), 1);
  return eager::pointwise("add", {column}, DType::int64);
}

}  // namespace highwater::models
