// BLOOM (transformers 5.12, models/bloom/modeling_bloom.py): alibi instead of positions, eager
// attention only, a GELU that is an autograd function written in Python.
#include "workloads/plan/model/families/bloom.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "workloads/models/bart_attention.hpp"
#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

namespace {

// a op b on Python's stack: both operands go when the result is there, the left one first.
Tensor multiply(Tensor left, Tensor right) {
  Tensor result = eager::mul(left, right);
  eager::end_of_frame(left, right);
  return result;
}

Tensor multiply(Tensor left) {
  Tensor result = eager::mul(left, 1.0);
  left.reset();
  return result;
}

Tensor increase(Tensor left) {
  Tensor result = eager::add(left, 1.0);
  left.reset();
  return result;
}

// 0.79788456 * x * (1 + 0.044715 * x * x)
Tensor gelu_argument(const Tensor& x) {
  Tensor scaled = eager::mul(x, 1.0);
  Tensor square = multiply(eager::mul(x, 1.0), x);
  Tensor factor = increase(std::move(square));
  return multiply(std::move(scaled), std::move(factor));
}

Tensor gelu_tanh(const Tensor& x) {
  const Tensor argument = gelu_argument(x);
  return eager::tanh(argument);
}

// x * 0.5 * (1 + tanh(...))
Tensor bloom_gelu_forward(const Tensor& x) {
  Tensor half = eager::mul(x, 1.0);
  Tensor factor = increase(gelu_tanh(x));
  return multiply(std::move(half), std::move(factor));
}

// bloom_gelu_back: 0.5 * x * ((1 - t * t) * (0.797 + 0.107 * x * x)) + 0.5 * (1 + t), times g
Tensor bloom_gelu_back(const Tensor& g, const Tensor& x) {
  Tensor tanh_out = gelu_tanh(x);
  Tensor half = eager::mul(x, 1.0);
  Tensor square = eager::mul(tanh_out, tanh_out);
  Tensor slope = eager::rsub(square, 1.0);
  square.reset();
  Tensor polynomial = increase(multiply(eager::mul(x, 1.0), x));
  Tensor inner = multiply(std::move(slope), std::move(polynomial));
  Tensor left = multiply(std::move(half), std::move(inner));
  Tensor right = multiply(increase(tanh_out));
  Tensor factor = eager::add(left, right);
  eager::end_of_frame(left, right);
  Tensor result = eager::mul(factor, g);
  eager::end_of_frame(tanh_out, factor);
  return result;
}

// GeLUFunction.apply: saves its input; no graph within.
Tensor bloom_gelu(const Tensor& x) {
  const auto node = eager::begin_node(x.runtime(), "GeLUFunctionBackward", {x});
  Tensor result;
  {
    eager::NoGrad no_grad(x.runtime());
    result = bloom_gelu_forward(x);
  }
  eager::finish_node(node, result, [](eager::Node& own, eager::TensorList& grads) {
    const Tensor input = own.unpack(0);
    return eager::TensorList{bloom_gelu_back(grads[0], input)};
  });
  if (node) {
    node->save(x);
  }
  return result;
}

Tensor dropout_add(const nn::ModelContext& context, const Tensor& x, const Tensor& residual,
                   double p) {
  const Tensor dropped = nn::functional_dropout(context, x, p);
  return eager::add(residual, dropped);
}

class BloomAttention : public Module {
 public:
  BloomAttention(Module* parent, const BloomConfig& config)
      : Module(parent, "self_attention"),
        config_(config),
        query_key_value_(this, "query_key_value", config.hidden_size, 3 * config.hidden_size),
        dense_(this, "dense", config.hidden_size, config.hidden_size),
        attention_dropout_(this, "attention_dropout", config.attention_dropout) {}

  AttentionResult operator()(Tensor hidden_states, Tensor residual, const Tensor& alibi,
                             const Tensor& mask, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    const std::int64_t batch = hidden_states.size(0);
    const std::int64_t length = hidden_states.size(1);
    Tensor fused_qkv = query_key_value_(hidden_states);
    auto [query, key, value] = split_heads(fused_qkv);
    if (cache) {
      cache->update(key, value);
    }
    query = merge_batch(query);
    key = eager::transpose(merge_batch(key), -1, -2);
    value = merge_batch(value);
    Tensor scores = eager::baddbmm(alibi, query, key);
    Tensor weights = eager::view(scores, {batch, config_.n_head, length, -1});
    if (mask.defined()) {
      weights = eager::add(weights, mask);
    }
    Tensor probs = probabilities(weights, query.dtype());
    probs = attention_dropout_(probs);
    Tensor probs_reshaped = eager::view(probs, {batch * config_.n_head, length, -1});
    Tensor context_layer = eager::bmm(probs_reshaped, value);
    context_layer = merge_heads(context_layer);
    Tensor output = dense_(context_layer);
    output = dropout_add(context(), output, residual, config_.hidden_dropout);
    eager::end_of_frame(hidden_states, residual, fused_qkv, query, key, value, scores, weights);
    eager::end_of_frame(probs_reshaped, context_layer);
    return {output, probs};
  }

 private:
  struct Heads {
    Tensor query;
    Tensor key;
    Tensor value;
  };

  // fused_qkv[..., i, :].transpose(1, 2)
  Heads split_heads(const Tensor& fused_qkv) const {
    const Tensor parts =
        eager::view(fused_qkv, {fused_qkv.size(0), fused_qkv.size(1), config_.n_head, 3,
                                config_.hidden_size / config_.n_head});
    const auto part = [&parts](std::int64_t i) {
      return eager::transpose(eager::slice(eager::select(parts, 3, i), -1, 0, eager::kEnd), 1, 2);
    };
    Tensor query = part(0);
    Tensor key = part(1);
    return {query, key, part(2)};
  }

  // [b, heads, s, d] to [b * heads, s, d]
  static Tensor merge_batch(const Tensor& states) {
    return eager::reshape(states, {states.size(0) * states.size(1), -1, states.size(3)});
  }

  // [b * heads, s, d] to [b, s, heads * d]
  Tensor merge_heads(const Tensor& states) const {
    const std::int64_t length = states.size(1);
    const std::int64_t batch = states.size(0) / config_.n_head;
    const Tensor spread = eager::view(states, {batch, config_.n_head, length, states.size(2)});
    return eager::reshape(eager::permute(spread, {0, 2, 1, 3}),
                          {batch, length, config_.hidden_size});
  }

  static Tensor probabilities(const Tensor& weights, DType dtype) {
    const Tensor wide = eager::softmax(weights, -1, DType::fp32);
    return eager::to_dtype(wide, dtype);
  }

  BloomConfig config_;
  nn::Linear query_key_value_;
  nn::Linear dense_;
  nn::Dropout attention_dropout_;
};

class BloomMlp : public Module {
 public:
  BloomMlp(Module* parent, const BloomConfig& config)
      : Module(parent, "mlp"),
        config_(config),
        dense_h_to_4h_(this, "dense_h_to_4h", config.hidden_size, 4 * config.hidden_size),
        dense_4h_to_h_(this, "dense_4h_to_h", 4 * config.hidden_size, config.hidden_size) {}

  Tensor operator()(Tensor hidden_states, Tensor residual) const {
    const nn::InModule scope(*this);
    {
      const Tensor wide = dense_h_to_4h_(hidden_states);
      hidden_states = bloom_gelu(wide);
    }
    Tensor narrow = dense_4h_to_h_(hidden_states);
    Tensor output = dropout_add(context(), narrow, residual, config_.hidden_dropout);
    eager::end_of_frame(hidden_states, residual, narrow);
    return output;
  }

 private:
  BloomConfig config_;
  nn::Linear dense_h_to_4h_;
  nn::Linear dense_4h_to_h_;
};

class BloomBlock : public Module {
 public:
  BloomBlock(Module* parent, std::size_t index, const BloomConfig& config)
      : Module(parent, std::to_string(index)),
        norm_is_residual_(config.apply_residual_connection_post_layernorm),
        input_layernorm_(this, "input_layernorm", config.hidden_size),
        self_attention_(this, config),
        post_attention_layernorm_(this, "post_attention_layernorm", config.hidden_size),
        mlp_(this, config) {}

  eager::TensorList operator()(Tensor hidden_states, const Tensor& alibi, const Tensor& mask,
                               const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor normed = input_layernorm_(hidden_states);
    Tensor residual = norm_is_residual_ ? normed : hidden_states;
    auto [attention, weights] = self_attention_(normed, residual, alibi, mask, cache);
    normed = post_attention_layernorm_(attention);
    residual = norm_is_residual_ ? normed : attention;
    Tensor output = mlp_(normed, residual);
    eager::end_of_frame(hidden_states, normed, residual, attention);
    return {output, weights};
  }

 private:
  bool norm_is_residual_;
  nn::LayerNorm input_layernorm_;
  BloomAttention self_attention_;
  nn::LayerNorm post_attention_layernorm_;
  BloomMlp mlp_;
};

class BloomModel : public Module {
 public:
  BloomModel(Module* parent, const BloomConfig& config)
      : Module(parent, "transformer"),
        heads_(config.n_head),
        word_embeddings_(this, "word_embeddings", config.vocab_size, config.hidden_size),
        word_embeddings_layernorm_(this, "word_embeddings_layernorm", config.hidden_size),
        h_(this, "h"),
        blocks_(h_, static_cast<std::size_t>(config.n_layer), config),
        ln_f_(this, "ln_f", config.hidden_size) {}

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor inputs_embeds = word_embeddings_(inputs.input_ids);
    Tensor states = word_embeddings_layernorm_(inputs_embeds);
    Tensor attention_mask = inputs.attention_mask;
    Tensor slopes;
    Tensor alibi;
    if (has_slope_function() && !attention_mask.defined()) {
      slopes = slopes_of_heads();
      alibi = full_alibi(slopes, states);
    } else {
      attention_mask = attention_mask.defined() ? attention_mask : mask_of_ones(states);
      alibi = alibi_tensor(attention_mask, states.dtype());
    }
    Tensor mask = nn::create_causal_mask(context(), {.inputs_embeds = inputs_embeds,
                                                     .attention_mask = attention_mask,
                                                     .position_ids = {},
                                                     .has_cache = cache != nullptr});
    eager::TensorList outputs = run_blocks(states, alibi, mask, cache);
    states = ln_f_(states);
    eager::end_of_frame(attention_mask, inputs_embeds, slopes, alibi, mask);
    eager::release_list(outputs);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return word_embeddings_.weight; }

 private:
  // `outputs` is bound again by the next block: so long the weights of the last one live.
  eager::TensorList run_blocks(Tensor& states, const Tensor& alibi, const Tensor& mask,
                               const nn::CachePtr& cache) const {
    eager::TensorList outputs;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = blocks_[i];
      eager::TensorList next =
          run_tuple_block(block, i,
                          [&block, cache](const std::vector<Tensor>& in, const Keywords& named) {
                            return block(in[0], named[1][0], named[0][0], cache);
                          },
                          {states}, {{mask}, {alibi}});
      eager::release_list(outputs);
      outputs = std::move(next);
      states = outputs[0];
    }
    return outputs;
  }

  Tensor scalar() const {
    const eager::OpScope op(runtime(), "_to_copy");
    return eager::empty(runtime(), {}, DType::fp32);
  }

  // _get_alibi_slopes, which asks for no mask.
  [[nodiscard]] bool has_slope_function() const { return runtime().transformers >= Release{5, 21}; }

  /// The variables behind the slopes; before 5.21 they are those of build_alibi_tensor.
  struct SlopeFrame {
    Tensor base;
    Tensor exponents;
    Tensor extra_base;
    Tensor extra_exponents;
  };

  Tensor slopes_in(SlopeFrame& frame) const {
    const auto closest =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads_)));
    frame.base = scalar();
    frame.exponents = eager::arange(runtime(), closest, DType::int32);
    Tensor slopes = eager::pointwise("pow", {frame.base, frame.exponents}, DType::fp32);
    if (closest == heads_) {
      return slopes;
    }
    frame.extra_base = scalar();
    frame.extra_exponents =
        eager::arange(runtime(), std::min(closest, heads_ - closest), DType::int32);
    Tensor extra = eager::pointwise("pow", {frame.extra_base, frame.extra_exponents}, DType::fp32);
    Tensor joined = eager::cat(std::initializer_list<Tensor>{slopes, extra}, 0);
    extra.reset();
    return joined;
  }

  static void end(SlopeFrame& frame) {
    eager::end_of_frame(frame.base, frame.exponents, frame.extra_base, frame.extra_exponents);
  }

  Tensor slopes_of_heads() const {
    SlopeFrame frame;
    Tensor slopes = slopes_in(frame);
    end(frame);
    return slopes;
  }

  // (slopes[:, None, None] * arange(length)).repeat(batch, 1, 1).to(dtype)
  Tensor full_alibi(const Tensor& slopes, const Tensor& states) const {
    const auto length = states.size(1);
    Tensor of_one;
    {
      const Tensor places = eager::arange(runtime(), length);
      of_one = eager::mul(eager::unsqueeze(eager::unsqueeze(slopes, -1), -1), places);
    }
    Tensor repeated = eager::empty(runtime(), {states.size(0) * heads_, 1, length}, DType::fp32);
    Tensor result = eager::to_dtype(repeated, states.dtype());
    eager::end_of_frame(repeated, of_one);
    return result;
  }

  // build_alibi_tensor
  Tensor alibi_tensor(const Tensor& attention_mask, DType dtype) const {
    SlopeFrame frame;
    Tensor slopes = slopes_in(frame);
    if (has_slope_function()) {
      end(frame);
    }
    Tensor places = counted(attention_mask);
    Tensor alibi = eager::mul(eager::unsqueeze(slopes, -1), places);
    const auto& sizes = attention_mask.sizes();
    Tensor result = eager::to_dtype(eager::reshape(alibi, {sizes[0] * heads_, 1, sizes[1]}), dtype);
    eager::end_of_frame(frame.base, frame.exponents, slopes, frame.extra_base,
                        frame.extra_exponents, places, alibi);
    return result;
  }

  // ((mask.cumsum(-1) - 1) * mask)[:, None, :]
  static Tensor counted(const Tensor& attention_mask) {
    Tensor sums = eager::cumsum(attention_mask, -1);
    Tensor shifted = eager::add(sums, -1.0);
    sums.reset();
    Tensor product = eager::mul(shifted, attention_mask);
    shifted.reset();
    return eager::unsqueeze(product, 1);
  }

  std::int64_t heads_;
  nn::Embedding word_embeddings_;
  nn::LayerNorm word_embeddings_layernorm_;
  nn::Container h_;
  nn::BlockList<BloomBlock> blocks_;
  nn::LayerNorm ln_f_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const BloomConfig& config) {
  return std::make_unique<CausalLm<BloomModel>>(context,
                                                HeadConfig{.width = config.hidden_size,
                                                           .vocab_size = config.vocab_size,
                                                           .is_tied = config.tie_word_embeddings},
                                                config);
}

}  // namespace highwater::models
