// torchtitan's LLaMA of January 2025 (torchtitan/models/llama/model.py): composite RMSNorm, complex
// rotation from a buffer of frequencies, repeated key heads, an untied head; the loss is the
// caller's.
#include "workloads/torchtitan/published_decoder.hpp"

#include <algorithm>
#include <utility>

#include "workloads/models/attention.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/torchtitan_style.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/torchtitan/complex_rotation.hpp"

namespace highwater::torchtitan {

using eager::Dims;
using eager::Tensor;
using nn::Module;

namespace {

// The frequencies reach as far as the longest sequence.
std::int64_t longest_sequence(const TrainingPlan& plan) {
  return *std::ranges::max_element(plan.seq);
}

class TitanNorm : public Module {
 public:
  TitanNorm(Module* parent, std::string name, std::int64_t width)
      : Module(parent, std::move(name)) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {width});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    return call(std::move(x), [this](const Tensor& in) { return scaled(in); });
  }

 private:
  [[nodiscard]] Tensor scaled(const Tensor& x) const {
    Tensor y = eager::to_dtype(x, DType::fp32);
    y = normalized(y, x);
    Tensor result = eager::mul(y, weight_);
    return result;
  }

  static Tensor normalized(const Tensor& y, const Tensor& x) {
    Tensor product;
    {
      const Tensor scale = inverse_root(y);
      product = eager::mul(y, scale);
    }
    return eager::type_as(product, x);
  }

  static Tensor inverse_root(const Tensor& y) {
    Tensor square = eager::mul(y, y);
    Tensor mean = eager::mean(square, -1, eager::KeepDim::yes);
    square.reset();
    Tensor shifted = eager::add(mean, 1e-5);
    mean.reset();
    return eager::rsqrt(shifted);
  }

  Tensor weight_;
};

// apply_rotary_emb for one operand.
Tensor rotate(Tensor x, const Tensor& frequencies) {
  Tensor complex = as_complex(x);
  Tensor result;
  {
    const Tensor real =
        turned(complex, eager::view(frequencies, {1, x.size(1), 1, frequencies.size(-1)}));
    result = eager::to_dtype(real, x.dtype());
  }
  eager::end_of_frame(x, complex);
  return result;
}

class TitanAttention : public Module {
 public:
  TitanAttention(Module* parent, const TorchtitanConfig& config)
      : Module(parent, "attention"),
        head_dim_(head_dim_of(config)),
        groups_(config.heads / kv_heads_of(config)),
        wq_(this, "wq", config.dim, config.heads * head_dim_, nn::Bias::none),
        wk_(this, "wk", config.dim, kv_heads_of(config) * head_dim_, nn::Bias::none),
        wv_(this, "wv", config.dim, kv_heads_of(config) * head_dim_, nn::Bias::none),
        wo_(this, "wo", config.heads * head_dim_, config.dim, nn::Bias::none) {}

  Tensor operator()(Tensor x, const Tensor& frequencies) const {
    const nn::InModule scope(*this);
    return call(std::move(x), [&](const Tensor& in) { return attended(in, frequencies); });
  }

 private:
  Tensor attended(const Tensor& x, const Tensor& frequencies) const {
    Tensor q = wq_(x);
    Tensor k = wk_(x);
    Tensor v = wv_(x);
    q = heads(q);
    k = heads(k);
    v = heads(v);
    q = rotate(q, frequencies);
    k = rotate(k, frequencies);
    k = repeat(k);
    v = repeat(v);
    Tensor out = models::causal_sdpa(context(), {.query = eager::transpose(q, 1, 2),
                                                 .key = eager::transpose(k, 1, 2),
                                                 .value = eager::transpose(v, 1, 2)});
    Tensor result = wo_(joined(out));
    eager::end_of_frame(q, k, v, out);  // x is the caller's
    return result;
  }

  Tensor heads(const Tensor& states) const {
    return eager::view(states, {states.size(0), states.size(1), -1, head_dim_});
  }

  // repeat_kv: x[:, :, :, None, :], expanded and copied.
  Tensor repeat(const Tensor& x) const {
    if (groups_ == 1) {
      return x;
    }
    const Dims sizes = x.sizes();
    Tensor spread = eager::slice(
        eager::slice(eager::slice(x, 0, 0, eager::kEnd), 1, 0, eager::kEnd), 2, 0, eager::kEnd);
    spread = eager::slice(eager::unsqueeze(spread, 3), 4, 0, eager::kEnd);
    spread = eager::expand(spread, {sizes[0], sizes[1], sizes[2], groups_, sizes[3]});
    return eager::reshape(spread, {sizes[0], sizes[1], sizes[2] * groups_, sizes[3]});
  }

  static Tensor joined(const Tensor& out) {
    return eager::view(eager::contiguous(eager::transpose(out, 1, 2)),
                       {out.size(0), out.size(2), -1});
  }

  std::int64_t head_dim_;
  std::int64_t groups_;
  nn::Linear wq_;
  nn::Linear wk_;
  nn::Linear wv_;
  nn::Linear wo_;
};

class TitanFeedForward : public Module {
 public:
  TitanFeedForward(Module* parent, const TorchtitanConfig& config)
      : Module(parent, "feed_forward"),
        w1_(this, "w1", config.dim, config.ffn, nn::Bias::none),
        w2_(this, "w2", config.ffn, config.dim, nn::Bias::none),
        w3_(this, "w3", config.dim, config.ffn, nn::Bias::none) {}

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    return call(std::move(x),
                [this](const Tensor& in) { return w2_(models::silu_gated(w1_, w3_, in)); });
  }

 private:
  nn::Linear w1_;
  nn::Linear w2_;
  nn::Linear w3_;
};

class TitanBlock : public Module {
 public:
  TitanBlock(Module* parent, std::size_t index, const TorchtitanConfig& config)
      : Module(parent, std::to_string(index)),
        attention_(this, config),
        feed_forward_(this, config),
        attention_norm_(this, "attention_norm", config.dim),
        ffn_norm_(this, "ffn_norm", config.dim) {}

  Tensor operator()(Tensor x, const Tensor& frequencies) const {
    const nn::InModule scope(*this);
    return models::residual_block(
        x, [&](const Tensor& in) { return attention_(attention_norm_(in), frequencies); },
        [this](const Tensor& h) { return feed_forward_(ffn_norm_(h)); });
  }

 private:
  TitanAttention attention_;
  TitanFeedForward feed_forward_;
  TitanNorm attention_norm_;
  TitanNorm ffn_norm_;
};

class Titan : public models::LanguageModel {
 public:
  Titan(nn::ModelContext& context, const TorchtitanConfig& config)
      : LanguageModel(context),
        part_(context.part_of(config.layers)),
        tok_embeddings_(models::embedding_of(this, part_, config)),
        frequencies_(make_frequencies(config)),
        layers_(this, "layers"),
        blocks_(layers_, part_, config),
        norm_(part_.has_head ? std::make_unique<TitanNorm>(this, "norm", config.dim) : nullptr),
        output_(models::head_of(this, part_, config)) {}

  models::Outputs forward(models::Inputs inputs) override {
    const Tensor buffer = own_buffers().front().tensor;
    Tensor h = tok_embeddings_ ? (*tok_embeddings_)(inputs.input_ids) : inputs.hidden_states;
    // Hidden states may be a part of the sequence (sequence parallelism), tokens never are.
    const std::int64_t length =
        tok_embeddings_ ? inputs.input_ids.size(1)
                        : h.size(1) * pipelining::sequence_parts(context().plan.parallel);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = blocks_[i];
      h = models::run_block(block, i + static_cast<std::size_t>(part_.layers_before),
                            [&block](const std::vector<Tensor>& in) { return block(in[0], in[1]); },
                            {h, eager::slice(buffer, 0, 0, length)});
    }
    models::Outputs out;
    if (output_) {
      models::head_only(out, (*norm_)(h), *output_);
    } else {
      out.hidden_states = std::move(h);
    }
    return out;
  }

 private:
  Tensor make_frequencies(const TorchtitanConfig& config) {
    Tensor table = eager::empty_on(runtime(), context().place,
                                   {longest_sequence(context().plan), head_dim_of(config) / 2},
                                   DType::complex64);
    register_buffer("freqs_cis", table);
    return table;
  }

  nn::ModelPart part_;
  std::unique_ptr<nn::Embedding> tok_embeddings_;  ///< null behind a pipeline's first stage
  Tensor frequencies_;
  nn::Container layers_;
  nn::BlockList<TitanBlock> blocks_;
  std::unique_ptr<TitanNorm> norm_;  ///< this and the head: null before a pipeline's last stage
  std::unique_ptr<nn::Linear> output_;
};

}  // namespace

std::unique_ptr<models::LanguageModel> make_published_decoder(nn::ModelContext& context,
                                                              const TorchtitanConfig& config) {
  return std::make_unique<Titan>(context, config);
}

}  // namespace highwater::torchtitan
