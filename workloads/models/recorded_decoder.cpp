// The decoder of the recordings' family `plain`: LLaMA in torchtitan's style with real-valued
// rotation; rope tables are made in each forward, heads are repeated, the loss is the caller's.
#include "workloads/plan/model/families/recorded_decoder.hpp"

#include <utility>

#include "workloads/models/attention.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/models/torchtitan_style.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::models {

namespace {

struct Tables {
  Tensor cos;
  Tensor sin;
};

// x * cos + cat((-right, left)) * sin
Tensor rotate(const Tensor& x, const Tables& tables) {
  auto halves = eager::chunk(x, 2, -1);
  Tensor left = std::move(halves[0]);
  Tensor right = std::move(halves[1]);
  Tensor straight = eager::mul(x, tables.cos);
  Tensor swapped;
  {
    const Tensor negative = eager::neg(right);
    swapped = eager::cat(std::initializer_list<Tensor>{negative, left}, -1);
  }
  Tensor turned = eager::mul(swapped, tables.sin);
  swapped.reset();
  Tensor result = eager::add(straight, turned);
  eager::end_of_frame(straight, turned, left, right);
  return result;
}

class RecordedAttention : public Module {
 public:
  RecordedAttention(Module* parent, const TorchtitanConfig& config)
      : Module(parent, "attention"),
        head_dim_(head_dim_of(config)),
        groups_(config.heads / kv_heads_of(config)),
        wq_(this, "wq", config.dim, config.heads * head_dim_, nn::Bias::none),
        wk_(this, "wk", config.dim, kv_heads_of(config) * head_dim_, nn::Bias::none),
        wv_(this, "wv", config.dim, kv_heads_of(config) * head_dim_, nn::Bias::none),
        wo_(this, "wo", config.heads * head_dim_, config.dim, nn::Bias::none) {}

  Tensor operator()(Tensor x, const Tables& tables) const {
    const nn::InModule scope(*this);
    return call(std::move(x), [&](const Tensor& in) { return attended(in, tables); });
  }

 private:
  Tensor attended(const Tensor& x, const Tables& tables) const {
    Tensor q = heads(wq_(x));
    Tensor k = heads(wk_(x));
    Tensor v = heads(wv_(x));
    {
      Tensor rotated_q = rotate(q, tables);
      Tensor rotated_k = rotate(k, tables);
      k = std::move(rotated_k);  // Python stores a pair of expressions from the right
      q = std::move(rotated_q);
    }
    {
      Tensor repeated_k = repeat(k);
      Tensor repeated_v = repeat(v);
      v = std::move(repeated_v);
      k = std::move(repeated_k);
    }
    Locals locals;
    Tensor out = attend(q, k, v, locals);
    Tensor result = project(out);
    eager::end_of_frame(q, k, v);  // x is the caller's
    eager::end_of_frame(out, locals.scores, locals.hidden);
    return result;
  }

  struct Locals {
    Tensor scores;
    Tensor hidden;
  };

  Tensor heads(const Tensor& states) const {
    return eager::transpose(eager::view(states, {states.size(0), states.size(1), -1, head_dim_}), 1,
                            2);
  }

  Tensor repeat(const Tensor& x) const {
    if (groups_ == 1) {
      return x;
    }
    const Dims sizes = x.sizes();
    Tensor spread = eager::slice(eager::slice(x, 0, 0, eager::kEnd), 1, 0, eager::kEnd);
    spread = eager::unsqueeze(spread, 2);
    spread = eager::expand(spread, {sizes[0], sizes[1], groups_, sizes[2], sizes[3]});
    return eager::reshape(spread, {sizes[0], sizes[1] * groups_, sizes[2], sizes[3]});
  }

  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, Locals& locals) const {
    if (!context().is_eager()) {
      return causal_sdpa(context(), {.query = q, .key = k, .value = v});
    }
    {
      const Tensor products = eager::matmul(q, eager::transpose(k, 2, 3));
      locals.scores = eager::mul(products, 1.0);
    }
    {
      const auto length = q.size(2);
      const Tensor ones = eager::empty(runtime(), {length, length}, DType::boolean);
      locals.hidden = eager::empty_like(ones);  // .triu(1)
    }
    locals.scores = eager::masked_fill(locals.scores, locals.hidden);
    Tensor narrow;
    {
      const Tensor wide = eager::softmax(locals.scores, -1, DType::fp32);
      narrow = eager::to_dtype(wide, q.dtype());
    }
    return eager::matmul(narrow, v);
  }

  // The argument of the projection dies with the call.
  Tensor project(const Tensor& out) const {
    return wo_(eager::reshape(eager::transpose(out, 1, 2), {out.size(0), out.size(2), -1}));
  }

  std::int64_t head_dim_;
  std::int64_t groups_;
  nn::Linear wq_;
  nn::Linear wk_;
  nn::Linear wv_;
  nn::Linear wo_;
};

class RecordedMlp : public Module {
 public:
  RecordedMlp(Module* parent, const TorchtitanConfig& config)
      : Module(parent, "feed_forward"),
        w1_(this, "w1", config.dim, config.ffn, nn::Bias::none),
        w3_(this, "w3", config.dim, config.ffn, nn::Bias::none),
        w2_(this, "w2", config.ffn, config.dim, nn::Bias::none) {}

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    return call(std::move(x), [this](const Tensor& in) { return w2_(silu_gated(w1_, w3_, in)); });
  }

 private:
  nn::Linear w1_;
  nn::Linear w3_;
  nn::Linear w2_;
};

class RecordedBlock : public Module {
 public:
  RecordedBlock(Module* parent, std::size_t index, const TorchtitanConfig& config)
      : Module(parent, std::to_string(index)),
        attention_norm_(this, "attention_norm", config.dim, NormKind::torchtitan),
        attention_(this, config),
        ffn_norm_(this, "ffn_norm", config.dim, NormKind::torchtitan),
        feed_forward_(this, config) {}

  Tensor operator()(Tensor x, const Tables& tables) const {
    const nn::InModule scope(*this);
    return residual_block(
        x, [&](const Tensor& in) { return attention_(attention_norm_(in), tables); },
        [this](const Tensor& h) { return feed_forward_(ffn_norm_(h)); });
  }

 private:
  Norm attention_norm_;
  RecordedAttention attention_;
  Norm ffn_norm_;
  RecordedMlp feed_forward_;
};

class RecordedDecoder : public LanguageModel {
 public:
  RecordedDecoder(nn::ModelContext& context, const TorchtitanConfig& config)
      : LanguageModel(context),
        is_part_(context.part.has_value()),
        part_(context.part_of(config.layers)),
        head_dim_(head_dim_of(config)),
        tok_embeddings_(embedding_of(this, part_, config)),
        layers_(this, "layers"),
        blocks_(layers_, part_, config),
        norm_(last_norm(config)),
        output_(head_of(this, part_, config)) {}

  Outputs forward(Inputs inputs) override {
    Tensor tokens = std::move(inputs.input_ids);
    Tensor h = tok_embeddings_ ? (*tok_embeddings_)(tokens) : inputs.hidden_states;
    Tensor step = steps();
    // Hidden states may be a part of the sequence (sequence parallelism), tokens never are.
    Tensor angle = angles(step, tok_embeddings_ ? tokens.size(1) : whole_length(h));
    Tables tables;
    tables.cos = eager::to_dtype(eager::cos(angle), h.dtype());
    tables.sin = eager::to_dtype(eager::sin(angle), h.dtype());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = blocks_[i];
      h = run_block(block, i + static_cast<std::size_t>(part_.first_layer),
                    [&block](const std::vector<Tensor>& in) {
                      return block(in[0], {.cos = in[1], .sin = in[2]});
                    },
                    {h, tables.cos, tables.sin});
    }
    Outputs out = end(h);
    eager::end_of_frame(tokens, h, step, angle, tables.cos, tables.sin);
    return out;
  }

 private:
  [[nodiscard]] std::int64_t whole_length(const Tensor& states) const {
    return states.size(1) * pipelining::sequence_parts(context().plan.parallel);
  }

  // What follows the blocks. A stage's forward binds its last hidden states to h again.
  Outputs end(Tensor& h) const {
    Outputs out;
    if (!output_) {
      out.hidden_states = h;
    } else if (is_part_) {
      h = (*norm_)(h);
      head_only(out, h, *output_);
    } else {
      head_only(out, (*norm_)(h), *output_);
    }
    return out;
  }

  std::unique_ptr<Norm> last_norm(const TorchtitanConfig& config) {
    return part_.has_head ? std::make_unique<Norm>(this, "norm", config.dim, NormKind::torchtitan)
                          : nullptr;
  }

  Tensor steps() const {
    const Tensor even = eager::arange(runtime(), (head_dim_ + 1) / 2, DType::fp32);
    return eager::div(even, 1.0);
  }

  // cat of outer(positions, theta ** -step) with itself; the base of a power is made a tensor.
  Tensor angles(const Tensor& step, std::int64_t length) const {
    Tensor outer;
    {
      Tensor positions = eager::to_dtype(eager::arange(runtime(), length), DType::fp32);
      Tensor negative = eager::neg(step);
      Tensor powers = eager::pow_of_scalar(negative);
      negative.reset();
      outer = eager::mul(eager::view(positions, {length, 1}), powers);
      eager::end_of_frame(positions, powers);
    }
    return eager::cat(std::initializer_list<Tensor>{outer, outer}, -1);
  }

  bool is_part_;
  nn::ModelPart part_;
  std::int64_t head_dim_;
  std::unique_ptr<nn::Embedding> tok_embeddings_;  ///< null behind a pipeline's first stage
  nn::Container layers_;
  nn::BlockList<RecordedBlock> blocks_;
  std::unique_ptr<Norm> norm_;  ///< this and the head: null before a pipeline's last stage
  std::unique_ptr<nn::Linear> output_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context,
                                          const TorchtitanConfig& config) {
  return std::make_unique<RecordedDecoder>(context, config);
}

}  // namespace highwater::models
