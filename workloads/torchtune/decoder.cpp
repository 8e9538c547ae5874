#include "workloads/torchtune/decoder.hpp"

#include <utility>

#include "workloads/models/attention.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/torchtune/linear.hpp"
#include "workloads/torchtune/positions.hpp"

namespace highwater::torchtune {

using eager::Tensor;
using nn::Module;

namespace {

class WideNorm : public Module {
 public:
  WideNorm(Module* parent, std::string name, std::int64_t width) : Module(parent, std::move(name)) {
    const nn::InModule scope(*this);
    scale_ = make_parameter("scale", {width});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    return call(std::move(x), [this](const Tensor& in) {
      const Tensor normed = eager::rms_norm(eager::to_dtype(in, DType::fp32), scale_);
      return eager::to_dtype(normed, in.dtype());
    });
  }

 private:
  Tensor scale_;
};

class MultiHeadAttention : public Module {
 public:
  /// `shared`: the table of all layers; null where the layer has its own.
  MultiHeadAttention(Module* parent, const LlamaConfig& config, const RotaryTable* shared)
      : Module(parent, "attn"),
        head_dim_(head_dim_of(config)),
        heads_(config.num_attention_heads),
        kv_heads_(kv_heads_of(config)),
        q_proj_(this, "q_proj", config.hidden_size, heads_ * head_dim_, qkv_bias(config)),
        k_proj_(this, "k_proj", config.hidden_size, kv_heads_ * head_dim_, qkv_bias(config)),
        v_proj_(this, "v_proj", config.hidden_size, kv_heads_ * head_dim_, qkv_bias(config)),
        output_proj_(this, "output_proj", config.hidden_size, config.hidden_size),
        own_positions_(shared == nullptr ? std::make_unique<RotaryTable>(this, config) : nullptr),
        positions_(shared == nullptr ? *own_positions_ : *shared) {}

  /// rope_init of a table of the layer's own.
  void init_buffers() const {
    if (own_positions_) {
      own_positions_->make_again();
    }
  }

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    return call(std::move(x), [this](const Tensor& in) { return attended(in); });
  }

 private:
  static nn::Bias qkv_bias(const LlamaConfig& config) {
    return nn::bias_if(always_has_qkv_bias(*config.code));
  }

  Tensor attended(const Tensor& x) const {
    Tensor q = q_proj_(x);
    q = heads(q);
    q = positions_.rotate(q);
    q = eager::transpose(q, 1, 2);
    Tensor k = k_proj_(x);
    Tensor v = v_proj_(x);
    k = heads(k);
    v = heads(v);
    k = positions_.rotate(k);
    k = eager::transpose(k, 1, 2);
    v = eager::transpose(v, 1, 2);
    if (kv_heads_ != heads_) {
      k = repeated(k);
      v = repeated(v);
    }
    Tensor output = models::causal_sdpa(context(), {.query = q, .key = k, .value = v});
    output = eager::contiguous(eager::transpose(output, 1, 2));
    output = eager::view(output, {x.size(0), x.size(1), -1});
    Tensor result = output_proj_(output);
    eager::end_of_frame(q, k, v, output);  // x is the caller's
    return result;
  }

  Tensor heads(const Tensor& states) const {
    return eager::view(states, {states.size(0), states.size(1), -1, head_dim_});
  }

  Tensor repeated(const Tensor& states) const {
    const Tensor spread =
        eager::expand(eager::unsqueeze(states, 2),
                      {states.size(0), kv_heads_, heads_ / kv_heads_, -1, head_dim_});
    return eager::flatten(spread, 1, 2);
  }

  std::int64_t head_dim_;
  std::int64_t heads_;
  std::int64_t kv_heads_;
  Linear q_proj_;
  Linear k_proj_;
  Linear v_proj_;
  Linear output_proj_;
  std::unique_ptr<RotaryTable> own_positions_;
  const RotaryTable& positions_;
};

class FeedForward : public Module {
 public:
  FeedForward(Module* parent, const LlamaConfig& config)
      : Module(parent, "mlp"),
        w1_(this, "w1", config.hidden_size, config.intermediate_size),
        w2_(this, "w2", config.intermediate_size, config.hidden_size),
        w3_(this, "w3", config.hidden_size, config.intermediate_size) {}

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    return call(std::move(x), [this](const Tensor& in) { return fed(in); });
  }

 private:
  Tensor fed(const Tensor& x) const {
    Tensor h = eager::silu(w1_(x));
    h = times_up(h, x);
    h = w2_(h);
    return h;
  }

  Tensor times_up(const Tensor& h, const Tensor& x) const {
    const Tensor up = w3_(x);
    return eager::mul(h, up);
  }

  Linear w1_;
  Linear w2_;
  Linear w3_;
};

class Layer : public Module {
 public:
  Layer(Module* parent, std::size_t index, const LlamaConfig& config, const RotaryTable* shared)
      : Module(parent, std::to_string(index)),
        attn_(this, config, shared),
        mlp_(this, config),
        sa_norm_(this, "sa_norm", config.hidden_size),
        mlp_norm_(this, "mlp_norm", config.hidden_size) {}

  void init_buffers() const { attn_.init_buffers(); }

  Tensor operator()(const Tensor& x) const {
    const nn::InModule scope(*this);
    Tensor attn_out;  // outlives h where a recomputation stops early and unwinds the frame
    Tensor h = sa_norm_(x);
    attn_out = attn_(h);
    h = eager::add(attn_out, x);
    Tensor mlp_out = mlp_(mlp_norm_(h));
    Tensor out = eager::add(h, mlp_out);
    eager::end_of_frame(h, attn_out, mlp_out);  // x is the caller's
    return out;
  }

 private:
  MultiHeadAttention attn_;
  FeedForward mlp_;
  WideNorm sa_norm_;
  WideNorm mlp_norm_;
};

// With adapters only the builders of 3.1 and later share one table (models/llama3_1,
// lora_llama3_1); those of LLaMA 2 and 3, Mistral and Qwen2 make one in each layer
// (models/llama3, lora_llama3_self_attention).
bool shares_table(const TrainingPlan& plan, const LlamaConfig& config) {
  return plan.lora.rank == 0 || config.rope_parameters.rope_type == RopeType::llama3;
}

class Decoder : public models::LanguageModel {
 public:
  Decoder(nn::ModelContext& context, const LlamaConfig& config)
      : LanguageModel(context),
        positions_(shares_table(context.plan, config) ? std::make_unique<RotaryTable>(this, config)
                                                      : nullptr),
        layers_(this, "layers"),
        blocks_(layers_, static_cast<std::size_t>(config.num_hidden_layers), config,
                positions_.get()),
        tok_embeddings_(this, "tok_embeddings", config.vocab_size, config.hidden_size) {
    if (!config.tie_word_embeddings) {
      output_ = std::make_unique<Linear>(this, "output", config.hidden_size, config.vocab_size);
    }
    norm_ = std::make_unique<WideNorm>(this, "norm", config.hidden_size);
    register_in_order({positions_.get(), &tok_embeddings_, &layers_, norm_.get(), output_.get()});
    if (context.plan.lora.rank > 0) {
      train_adapters_alone(*this);
    }
    if (context.place == eager::Place::cuda) {
      load_checkpoint(*this);
    }
  }

  models::Outputs forward(models::Inputs inputs) override {
    Tensor h = tok_embeddings_(inputs.input_ids);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Layer& layer = blocks_[i];
      h = models::run_block(layer, i,
                            [&layer](const std::vector<Tensor>& in) { return layer(in[0]); }, {h});
    }
    return unembedded((*norm_)(h));
  }

  void init_buffers() override {
    if (positions_) {
      positions_->make_again();
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].init_buffers();
    }
  }

 private:
  models::Outputs unembedded(const Tensor& h) const {
    const auto head = [this](const Tensor& x) { return output(x); };
    models::Outputs out;
    if (context().plan.loss.kind == LossKind::chunked) {
      out.logit_chunks = models::chunked_output(h, context().plan.loss.chunks, head);
    } else {
      out.logits = eager::to_dtype(output(h), DType::fp32);
      runtime().categorize_transient(out.logits, Category::activation);
    }
    return out;
  }

  // TiedLinear has no weight of its own.
  Tensor output(const Tensor& h) const {
    return output_ ? (*output_)(h) : eager::linear(h, tok_embeddings_.weight, {});
  }

  std::unique_ptr<RotaryTable> positions_;  ///< null: each layer has its own
  nn::Container layers_;
  nn::BlockList<Layer> blocks_;
  nn::Embedding tok_embeddings_;
  std::unique_ptr<Linear> output_;  ///< null: tied
  std::unique_ptr<WideNorm> norm_;
};

}  // namespace

std::unique_ptr<models::LanguageModel> make_decoder(nn::ModelContext& context,
                                                    const LlamaConfig& config) {
  return std::make_unique<Decoder>(context, config);
}

}  // namespace highwater::torchtune
