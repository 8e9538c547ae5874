// OpenAI GPT (transformers 5.23, models/openai/modeling_openai.py): norms behind the parts, a table
// of ones below the diagonal as a buffer of every layer, attention written out.
#include "workloads/plan/model/families/openai_gpt.hpp"

#include <string>
#include <utility>

#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::models {

namespace {

class OpenaiGptAttention : public Module {
 public:
  OpenaiGptAttention(Module* parent, const OpenaiGptConfig& config)
      : Module(parent, "attn"),
        config_(config),
        triangle_(make_triangle()),
        c_attn_(this, "c_attn", config.n_embd, 3 * config.n_embd),
        c_proj_(this, "c_proj", config.n_embd, config.n_embd),
        attn_dropout_(this, "attn_dropout", config.attn_pdrop),
        resid_dropout_(this, "resid_dropout", config.resid_pdrop) {
    register_buffer("bias", triangle_);
  }

  Tensor operator()(Tensor x, const Tensor& mask) const {
    const nn::InModule scope(*this);
    x = c_attn_(x);
    auto parts = eager::split(x, config_.n_embd, 2);
    Tensor query = eager::permute(heads(parts[0]), {0, 2, 1, 3});
    Tensor key = eager::permute(heads(parts[1]), {0, 2, 3, 1});
    Tensor value = eager::permute(heads(parts[2]), {0, 2, 1, 3});
    parts.clear();
    Tensor attended = attend(query, key, value, mask);
    Tensor a = eager::contiguous(eager::permute(attended, {0, 2, 1, 3}));
    a = eager::view(a, {a.size(0), a.size(1), config_.n_embd});
    a = c_proj_(a);
    a = resid_dropout_(a);
    eager::end_of_frame(x, query, key, value, attended);
    return a;
  }

  /// _init_weights makes the triangle again and copies it.
  void initialize_again() const {
    const nn::InModule scope(*this);
    const Tensor again = make_triangle();
  }

 private:
  // torch.tril(torch.ones(n, n)).view(1, 1, n, n)
  [[nodiscard]] Tensor make_triangle() const {
    const nn::InModule scope(*this);
    const Dims sizes{1, 1, config_.n_positions, config_.n_positions};
    const Tensor ones = eager::empty_on(runtime(), context().place, sizes, context().dtype);
    return eager::empty_on(runtime(), context().place, sizes, context().dtype);
  }

  [[nodiscard]] Tensor heads(const Tensor& x) const {
    return eager::view(x, {x.size(0), x.size(1), config_.n_head, config_.n_embd / config_.n_head});
  }

  // _attn
  [[nodiscard]] Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                              const Tensor& mask) const {
    Tensor w = eager::matmul(query, key);
    w = eager::div(w, 1.0);
    Tensor b = eager::slice(eager::slice(triangle_, 2, 0, w.size(-2)), 3, 0, w.size(-1));
    w = masked(std::move(w), b);
    if (mask.defined()) {
      w = eager::add(w, mask);
    }
    w = eager::softmax(w, -1, std::nullopt);
    w = attn_dropout_(w);
    Tensor result = eager::matmul(w, value);
    eager::end_of_frame(w, b);
    return result;
  }

  // w * b + -1e4 * (1 - b)
  static Tensor masked(Tensor w, const Tensor& b) {
    Tensor seen = eager::mul(w, b);
    Tensor others = eager::rsub(b, 1.0);
    Tensor hidden = eager::mul(others, -1e4);
    others.reset();
    Tensor result = eager::add(seen, hidden);
    eager::end_of_frame(seen, hidden, w);
    return result;
  }

  OpenaiGptConfig config_;
  Tensor triangle_;
  nn::Conv1D c_attn_;
  nn::Conv1D c_proj_;
  nn::Dropout attn_dropout_;
  nn::Dropout resid_dropout_;
};

class OpenaiGptMlp : public Module {
 public:
  OpenaiGptMlp(Module* parent, const OpenaiGptConfig& config)
      : Module(parent, "mlp"),
        c_fc_(this, "c_fc", config.n_embd, 4 * config.n_embd),
        c_proj_(this, "c_proj", 4 * config.n_embd, config.n_embd),
        act_(config.afn == Activation::gelu ? Activation::gelu_new : config.afn),
        dropout_(this, "dropout", config.resid_pdrop) {}

  Tensor operator()(const Tensor& x) const {
    const nn::InModule scope(*this);
    Tensor h;
    {
      const Tensor wide = c_fc_(x);
      h = nn::activate(context(), act_, wide);
    }
    Tensor h2 = c_proj_(h);
    Tensor result = dropout_(h2);
    eager::end_of_frame(h, h2);
    return result;
  }

 private:
  nn::Conv1D c_fc_;
  nn::Conv1D c_proj_;
  Activation act_;
  nn::Dropout dropout_;
};

class OpenaiGptBlock : public Module {
 public:
  OpenaiGptBlock(Module* parent, std::size_t index, const OpenaiGptConfig& config)
      : Module(parent, std::to_string(index)),
        attn_(this, config),
        ln_1_(this, "ln_1", config.n_embd),
        mlp_(this, config),
        ln_2_(this, "ln_2", config.n_embd) {}

  Tensor operator()(Tensor x, const Tensor& mask) const {
    const nn::InModule scope(*this);
    Tensor a = attn_(x, mask);
    Tensor n = ln_1_(eager::add(x, a));
    Tensor m = mlp_(n);
    Tensor h = ln_2_(eager::add(n, m));
    eager::end_of_frame(x, a, n, m);
    return h;
  }

  void initialize_again() const { attn_.initialize_again(); }

 private:
  OpenaiGptAttention attn_;
  nn::LayerNorm ln_1_;
  OpenaiGptMlp mlp_;
  nn::LayerNorm ln_2_;
};

class OpenaiGptModel : public Module {
 public:
  OpenaiGptModel(Module* parent, const OpenaiGptConfig& config)
      : Module(parent, "transformer"),
        config_(config),
        tokens_embed_(this, "tokens_embed", config.vocab_size, config.n_embd),
        positions_embed_(this, "positions_embed", config.n_positions, config.n_embd),
        drop_(this, "drop", config.embd_pdrop),
        h_(this, "h"),
        blocks_(h_, static_cast<std::size_t>(config.n_layer), config),
        position_ids_(make_positions()) {
    register_buffer("position_ids", position_ids_);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].initialize_again();
    }
    const Tensor again = make_positions();
  }

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& /*cache*/) const {
    const nn::InModule scope(*this);
    const std::int64_t length = inputs.input_ids.size(1);
    Tensor mask = mask_of(inputs.attention_mask);
    const Tensor positions = eager::slice(eager::unsqueeze(position_ids_, 0), 1, 0, length);
    Tensor inputs_embeds = tokens_embed_(eager::view(inputs.input_ids, {-1, length}));
    Tensor position_embeds = positions_embed_(positions);
    Tensor states;
    {
      const Tensor sum = eager::add(inputs_embeds, position_embeds);
      states = eager::add(sum, 0.0);  // no token types
    }
    states = drop_(states);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = blocks_[i];
      states = run_block(
          block, i, [&block, mask](const std::vector<Tensor>& in) { return block(in[0], mask); },
          {states});
    }
    eager::end_of_frame(mask, inputs_embeds, position_embeds);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return tokens_embed_.weight; }

 private:
  [[nodiscard]] Tensor make_positions() const {
    const nn::InModule scope(*this);
    return eager::empty_on(runtime(), context().place, {config_.n_positions}, DType::int64);
  }

  // (1.0 - mask.to(dtype)) * least, one number for each key
  [[nodiscard]] Tensor mask_of(const Tensor& attention_mask) const {
    if (!attention_mask.defined()) {
      return {};
    }
    Tensor mask = eager::unsqueeze(eager::unsqueeze(attention_mask, 1), 2);
    mask = eager::to_dtype(mask, tokens_embed_.weight.dtype());
    const Tensor hidden = eager::rsub(mask, 1.0);
    return eager::mul(hidden, -1.0);
  }

  OpenaiGptConfig config_;
  nn::Embedding tokens_embed_;
  nn::Embedding positions_embed_;
  nn::Dropout drop_;
  nn::Container h_;
  nn::BlockList<OpenaiGptBlock> blocks_;
  Tensor position_ids_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context,
                                          const OpenaiGptConfig& config) {
  return std::make_unique<CausalLm<OpenaiGptModel>>(
      context,
      HeadConfig{.width = config.n_embd,
                 .vocab_size = config.vocab_size,
                 .is_tied = config.tie_word_embeddings},
      config);
}

}  // namespace highwater::models
