#include "workloads/colossalai/layers/gpt.hpp"

#include <utility>

#include "workloads/colossalai/layers/layer.hpp"
#include "workloads/nn/blocks.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::colossalai {
namespace {

using models::Inputs;
using models::Outputs;
using nn::Module;

class Embeddings : public Module {
 public:
  Embeddings(Module* parent, LayerMaker& layers, const Gpt2Config& config)
      : Module(parent, "embed"),
        words_(layers.embedding(this, "words", config.vocab_size, config.n_embd)),
        positions_(layers.embedding(this, "positions", config.n_positions, config.n_embd)),
        dropout_(this, "dropout", config.embd_pdrop) {}

  Tensor operator()(const Tensor& input_ids) const {
    const nn::InModule scope(*this);
    Tensor places = repeated(input_ids);
    Tensor x;
    {
      const Tensor words = (*words_)(input_ids);
      const Tensor positions = (*positions_)(places);
      x = eager::add(words, positions);
    }
    Tensor result = dropout_(x);
    eager::end_of_frame(places, x);
    return result;
  }

  [[nodiscard]] Tensor weight() const { return words_->own_parameters().front().tensor; }

 private:
  // arange(...).unsqueeze(0), bound before .repeat(batch, 1) replaces it
  static Tensor repeated(const Tensor& input_ids) {
    const Tensor row = eager::arange(input_ids.runtime(), input_ids.size(1));
    const eager::OpScope op(input_ids.runtime(), "repeat");
    return eager::empty(input_ids.runtime(), input_ids.sizes(), DType::int64);
  }

  LayerPtr words_;
  LayerPtr positions_;
  nn::Dropout dropout_;
};

class Attention : public Module {
 public:
  Attention(Module* parent, LayerMaker& layers, const Gpt2Config& config)
      : Module(parent, "attn"),
        head_dim_(config.n_embd / config.n_head),
        query_key_value_(layers.linear(this, "query_key_value", config.n_embd, 3 * config.n_embd)),
        attention_dropout_(this, "attention_dropout", config.attn_pdrop),
        dense_(layers.linear(this, "dense", config.n_embd, config.n_embd)),
        dropout_(this, "dropout", config.resid_pdrop) {}

  Tensor operator()(const Tensor& input) const {
    const nn::InModule scope(*this);
    Tensor qkv = (*query_key_value_)(input);
    const std::int64_t width = qkv.size(-1) / 3;
    qkv = eager::view(qkv, {qkv.size(0), qkv.size(1), width / head_dim_, 3 * head_dim_});
    qkv = eager::permute(qkv, {0, 2, 1, 3});
    TensorList parts = eager::chunk(qkv, 3, -1);
    Tensor causal;
    Tensor x = weights(parts[0], parts[1], causal);
    x = eager::matmul(x, parts[2]);
    x = eager::transpose(x, 1, 2);
    x = eager::reshape(x, {x.size(0), x.size(1), width});
    x = (*dense_)(x);
    Tensor result = dropout_(x);
    eager::end_of_frame(x, qkv, parts[0], parts[1], parts[2], causal);
    return result;
  }

 private:
  // `causal` is a variable of the caller's frame.
  Tensor weights(const Tensor& query, const Tensor& key, Tensor& causal) const {
    Tensor x = eager::matmul(query, eager::transpose(key, -1, -2));
    x = eager::div(x, 1.0);
    causal = causal_mask(query.size(-2));
    x = hidden(causal, x);
    x = eager::softmax(x, -1, std::nullopt);
    x = attention_dropout_(x);
    return x;
  }

  // torch.where(causal, x, torch.tensor(-1e4)), whose number is gone before x is bound again
  static Tensor hidden(const Tensor& causal, const Tensor& x) {
    const Tensor low = eager::empty(x.runtime(), {}, x.dtype());
    return eager::where(causal, x, low);
  }

  // tril of ones in bytes, as bool
  [[nodiscard]] Tensor causal_mask(std::int64_t length) const {
    Tensor ones = eager::empty(runtime(), {length, length}, DType::uint8);
    const Tensor lower = eager::pointwise("tril", {ones}, DType::uint8);
    ones.reset();
    return eager::to_dtype(eager::view(lower, {1, 1, length, length}), DType::boolean);
  }

  std::int64_t head_dim_;
  LayerPtr query_key_value_;
  nn::Dropout attention_dropout_;
  LayerPtr dense_;
  nn::Dropout dropout_;
};

class Mlp : public Module {
 public:
  Mlp(Module* parent, LayerMaker& layers, const Gpt2Config& config)
      : Module(parent, "mlp"),
        linear_1_(layers.linear(this, "linear_1", config.n_embd, inner_dim_of(config))),
        linear_2_(layers.linear(this, "linear_2", inner_dim_of(config), config.n_embd)),
        dropout_(this, "dropout", config.resid_pdrop) {}

  Tensor operator()(const Tensor& input) const {
    const nn::InModule scope(*this);
    Tensor x = (*linear_1_)(input);
    x = eager::gelu(x);
    x = (*linear_2_)(x);
    return dropout_(x);
  }

 private:
  LayerPtr linear_1_;
  LayerPtr linear_2_;
  nn::Dropout dropout_;
};

class Block : public Module {
 public:
  Block(Module* parent, std::int64_t index, LayerMaker& layers, const Gpt2Config& config)
      : Module(parent, std::to_string(index)),
        norm1_(layers.norm(this, "norm1", config.n_embd)),
        attn_(this, layers, config),
        norm2_(layers.norm(this, "norm2", config.n_embd)),
        mlp_(this, layers, config) {}

  Tensor operator()(const Tensor& input) const {
    const nn::InModule scope(*this);
    Tensor x = input;  // the caller holds its argument
    x = eager::add(x, attended(x));
    x = eager::add(x, fed(x));
    return x;
  }

 private:
  [[nodiscard]] Tensor attended(const Tensor& x) const {
    const Tensor normed = (*norm1_)(x);
    return attn_(normed);
  }

  [[nodiscard]] Tensor fed(const Tensor& x) const {
    const Tensor normed = (*norm2_)(x);
    return mlp_(normed);
  }

  LayerPtr norm1_;
  Attention attn_;
  LayerPtr norm2_;
  Mlp mlp_;
};

class Gpt : public models::LanguageModel {
 public:
  Gpt(nn::ModelContext& context, const Gpt2Config& config)
      : LanguageModel(context),
        layers_(make_layers(context)),
        embed_(this, *layers_, config),
        container_(this, "blocks") {
    for (std::int64_t i = 0; i < config.n_layer; ++i) {
      blocks_.push_back(std::make_unique<Block>(&container_, i, *layers_, config));
    }
    runtime().parallel_cross_entropy = [this](const Tensor& logits, const Tensor& targets) {
      return layers_->loss(logits, targets);
    };
    norm_ = layers_->norm(this, "norm", config.n_embd);
    head_ = layers_->head(this, "head", config.n_embd, config.vocab_size,
                          config.tie_word_embeddings ? embed_.weight() : Tensor{});
  }

  Outputs forward(Inputs inputs) override {
    Outputs out;
    out.logits = logits(inputs.input_ids);
    runtime().categorize_transient(out.logits, Category::activation);
    return out;
  }

 private:
  Tensor logits(const Tensor& input_ids) const {
    Tensor x = embed_(input_ids);
    for (const auto& block : blocks_) {
      x = (*block)(x);
    }
    const Tensor normed = (*norm_)(x);
    return (*head_)(normed);
  }

  std::unique_ptr<LayerMaker> layers_;
  Embeddings embed_;
  nn::Container container_;
  std::vector<std::unique_ptr<Block>> blocks_;
  LayerPtr norm_;
  LayerPtr head_;
};

}  // namespace

// The arguments' names are bound to the shifted tensors.
Tensor shifted_loss(const Tensor& all_logits, const Tensor& all_labels) {
  const Tensor positions = eager::slice(all_logits, -2, 0, -1);
  Tensor logits = eager::contiguous(eager::slice(positions, -1, 0, eager::kEnd));
  Tensor labels = eager::contiguous(eager::slice(all_labels, -1, 1, eager::kEnd));
  Tensor result;
  {
    const Tensor rows = eager::view(logits, {-1, logits.size(-1)});
    const Tensor targets = eager::view(labels, {-1});
    result = logits.runtime().parallel_cross_entropy(rows, targets);
  }
  eager::end_of_frame(logits, labels);
  return result;
}

std::unique_ptr<models::LanguageModel> make_gpt(nn::ModelContext& context,
                                                const Gpt2Config& config) {
  return std::make_unique<Gpt>(context, config);
}

}  // namespace highwater::colossalai
