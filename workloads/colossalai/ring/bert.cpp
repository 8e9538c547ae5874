#include "workloads/colossalai/ring/bert.hpp"

#include <utility>

#include "workloads/colossalai/ring/ring_attention.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::colossalai {
namespace {

using models::Inputs;
using models::Outputs;
using nn::Module;

/// A linear layer that leaves adding its bias to the caller (skip_bias_add).
class Dense : public nn::Linear {
 public:
  using Linear::Linear;

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    return eager::linear(x, weight, Tensor{});
  }
};

// bias_dropout_add
Tensor add_to_residual(const Module& module, const Tensor& x, const Tensor& bias,
                       const Tensor& residual, double probability) {
  Tensor out;
  {
    const Tensor biased = eager::add(x, bias);
    out = nn::functional_dropout(module.context(), biased, probability);
  }
  out = eager::add(residual, out);
  return out;
}

class RingAttention : public Module {
 public:
  RingAttention(Module* parent, const Gpt2Config& config, dist::ProcessGroup& ranks)
      : Module(parent, "self_attention"),
        heads_(config.n_head),
        head_dim_(config.n_embd / config.n_head),
        ranks_(ranks),
        query_key_value_(this, "query_key_value", config.n_embd, 3 * config.n_embd),
        attention_dropout_(this, "attention_dropout", config.attn_pdrop),
        dense_(this, "dense", config.n_embd, config.n_embd) {}

  Tensor operator()(const Tensor& input, const Tensor& mask) const {
    const nn::InModule scope(*this);
    const std::int64_t length = input.size(0);
    const std::int64_t batch = input.size(1);
    Tensor mixed = query_key_value_(input);
    mixed = eager::view(mixed, {length, batch, heads_, 3 * head_dim_});
    TensorList parts = eager::split(mixed, head_dim_, -1);
    Tensor scores = scores_of(parts[0], parts[1]);
    scores = eager::view(scores, {batch, heads_, length, scores.size(-1)});
    Tensor probabilities = softmax(scores, mask);
    probabilities = attention_dropout_(probabilities);
    Tensor context = values_of(probabilities, parts[2]);
    context = eager::view(context, {batch, heads_, length, head_dim_});
    context = eager::contiguous(eager::permute(context, {2, 0, 1, 3}));
    context = eager::view(context, {length, batch, heads_ * head_dim_});
    Tensor result = dense_(context);
    eager::end_of_frame(mixed, parts[0], parts[1], parts[2], scores, probabilities, context);
    return result;
  }

  [[nodiscard]] const Tensor& bias() const { return dense_.bias; }

 private:
  // [s, b, heads, d] as [s, b heads, d]; the variable is bound again
  void join_heads(Tensor& part) const {
    part = eager::view(part, {part.size(0), part.size(1) * heads_, head_dim_});
  }

  static Tensor heads_in_front(const Tensor& part) {
    return eager::contiguous(eager::transpose(part, 0, 1));
  }

  Tensor scores_of(Tensor& query, Tensor& key) const {
    join_heads(query);
    join_heads(key);
    const Tensor queries = heads_in_front(query);
    const Tensor keys = heads_in_front(key);
    return eager::div_(ring_scores(queries, keys, ranks_), 1.0);
  }

  // FusedScaleMaskSoftmax.forward_torch_softmax; apply_query_key_layer_scaling has it in fp32
  static Tensor softmax(const Tensor& scores, const Tensor& mask) {
    Tensor input = eager::to_dtype(scores, DType::fp32);
    input = eager::mul(input, 1.0);
    const Tensor masked = mask.defined() ? eager::masked_fill_(input, mask) : input;
    Tensor probabilities = eager::softmax(masked, -1, std::nullopt);
    probabilities = eager::to_dtype(probabilities, scores.dtype());
    return probabilities;
  }

  Tensor values_of(Tensor& probabilities, Tensor& value) const {
    value = eager::contiguous(value);
    join_heads(value);
    const Dims& sizes = probabilities.sizes();
    probabilities = eager::view(probabilities, {sizes[0] * sizes[1], sizes[2], sizes[3]});
    return ring_values(probabilities, heads_in_front(value), ranks_);
  }

  std::int64_t heads_;
  std::int64_t head_dim_;
  dist::ProcessGroup& ranks_;
  nn::Linear query_key_value_;
  nn::Dropout attention_dropout_;
  Dense dense_;
};

class RingMlp : public Module {
 public:
  RingMlp(Module* parent, const Gpt2Config& config)
      : Module(parent, "mlp"),
        dense_h_to_4h_(this, "dense_h_to_4h", config.n_embd, inner_dim_of(config)),
        dense_4h_to_h_(this, "dense_4h_to_h", inner_dim_of(config), config.n_embd) {}

  Tensor operator()(const Tensor& input) const {
    const nn::InModule scope(*this);
    Tensor x = dense_h_to_4h_(input);
    x = activated(x);
    return dense_4h_to_h_(x);
  }

  [[nodiscard]] const Tensor& bias() const { return dense_4h_to_h_.bias; }

 private:
  [[nodiscard]] Tensor activated(const Tensor& x) const {
    return eager::gelu(eager::add(x, dense_h_to_4h_.bias));
  }

  Dense dense_h_to_4h_;
  Dense dense_4h_to_h_;
};

class RingLayer : public Module {
 public:
  RingLayer(Module* parent, std::size_t index, const Gpt2Config& config, dist::ProcessGroup* ranks)
      : Module(parent, std::to_string(index)),
        dropout_(config.resid_pdrop),
        input_layernorm_(this, "input_layernorm", config.n_embd),
        self_attention_(this, config, *ranks),
        post_attention_layernorm_(this, "post_attention_layernorm", config.n_embd),
        mlp_(this, config) {}

  Tensor operator()(const Tensor& input, const Tensor& mask) const {
    const nn::InModule scope(*this);
    Tensor x = input_layernorm_(input);
    x = self_attention_(x, mask);
    Tensor hidden_states = add_to_residual(*this, x, self_attention_.bias(), input, dropout_);
    x = post_attention_layernorm_(hidden_states);
    x = mlp_(x);
    Tensor result = add_to_residual(*this, x, mlp_.bias(), hidden_states, dropout_);
    eager::end_of_frame(hidden_states, x);
    return result;
  }

 private:
  double dropout_;
  nn::LayerNorm input_layernorm_;
  RingAttention self_attention_;
  nn::LayerNorm post_attention_layernorm_;
  RingMlp mlp_;
};

class RingHead : public Module {
 public:
  RingHead(Module* parent, const Gpt2Config& config)
      : Module(parent, "head"),
        bias_(make_parameter("bias", {config.vocab_size})),
        dense_(this, "dense", config.n_embd, config.n_embd),
        layernorm_(this, "layernorm", config.n_embd) {}

  Tensor operator()(const Tensor& input, const Tensor& words, const Tensor& labels) const {
    const nn::InModule scope(*this);
    Tensor x = dense_(input);
    x = eager::gelu(x);
    x = layernorm_(x);
    Tensor logits = eager::linear(x, words, bias_);
    runtime().categorize_transient(logits, Category::activation);
    Tensor loss =
        eager::cross_entropy(eager::view(logits, {-1, logits.size(-1)}), eager::view(labels, {-1}));
    eager::end_of_frame(x, logits);
    return loss;
  }

 private:
  Tensor bias_;
  nn::Linear dense_;
  nn::LayerNorm layernorm_;
};

class RingBert : public models::LanguageModel {
 public:
  RingBert(nn::ModelContext& context, const Gpt2Config& config)
      : LanguageModel(context),
        ranks_(context.runtime, context.plan.parallel.cp, context.plan.parallel.backend),
        words_(this, "words", config.vocab_size, config.n_embd),
        positions_(this, "positions", config.n_positions, config.n_embd),
        dropout_(this, "dropout", config.embd_pdrop),
        container_(this, "layers"),
        layers_(container_, static_cast<std::size_t>(config.n_layer), config, &ranks_),
        layer_norm_(this, "layer_norm", config.n_embd),
        head_(this, config) {}

  Outputs forward(Inputs inputs) override {
    Tensor mask = inputs.attention_mask.defined()
                      ? hidden_keys(inputs.attention_mask, inputs.input_ids.size(1))
                      : Tensor{};
    Tensor x = embed(inputs.input_ids);
    x = eager::contiguous(eager::transpose(x, 0, 1));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i](x, mask);
    }
    x = eager::contiguous(eager::transpose(x, 0, 1));
    x = layer_norm_(x);
    Outputs out;
    out.loss = head_(x, words_.weight, inputs.labels);
    eager::end_of_frame(mask, x);
    return out;
  }

 private:
  Tensor embed(const Tensor& input_ids) const {
    Tensor places = eager::expand(eager::unsqueeze(eager::arange(runtime(), input_ids.size(1)), 0),
                                  input_ids.sizes());
    Tensor words = words_(input_ids);
    Tensor positions = positions_(places);
    Tensor x = eager::add(words, positions);
    Tensor result = dropout_(x);
    eager::end_of_frame(places, words, positions, x);
    return result;
  }

  // [b, 1, s / N, s] of the [b, s] mask: where a query or a key is padding
  static Tensor hidden_keys(const Tensor& mask, std::int64_t length) {
    const Tensor both = eager::mul(eager::unsqueeze(mask, 1), eager::unsqueeze(mask, 2));
    const Tensor own = eager::slice(both, 1, 0, length);
    return eager::compare("lt", {eager::unsqueeze(own, 1)});
  }

  dist::ProcessGroup ranks_;
  nn::Embedding words_;
  nn::Embedding positions_;
  nn::Dropout dropout_;
  nn::Container container_;
  nn::BlockList<RingLayer> layers_;
  nn::LayerNorm layer_norm_;
  RingHead head_;
};

}  // namespace

std::unique_ptr<models::LanguageModel> make_ring_bert(nn::ModelContext& context,
                                                      const Gpt2Config& config) {
  return std::make_unique<RingBert>(context, config);
}

}  // namespace highwater::colossalai
