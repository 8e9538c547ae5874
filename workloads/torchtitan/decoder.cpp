#include "workloads/torchtitan/decoder.hpp"

#include <algorithm>
#include <utility>

#include "workloads/models/torchtitan_style.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/torchtitan/complex_rotation.hpp"
#include "workloads/torchtitan/context_parallel.hpp"
#include "workloads/torchtitan/flex_attention.hpp"
#include "workloads/torchtitan/initial_values.hpp"
#include "workloads/torchtitan/published_decoder.hpp"
#include "workloads/torchtitan/sequence_parallel.hpp"

namespace highwater::torchtitan {

using eager::Dims;
using eager::Tensor;
using nn::Module;

namespace {

/// Who shares the work; null: nobody.
struct Ranks {
  SequenceRanks* context = nullptr;  ///< of a sequence's attention
  SequenceRanks* tensor = nullptr;   ///< of products, and of the sequence between them
};

/// A decoder's sizes as one rank has them.
struct LocalSizes {
  std::int64_t dim;
  std::int64_t head_dim;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t ffn;
  std::int64_t vocab;

  LocalSizes(const TorchtitanConfig& config, int ranks)
      : dim(config.dim),
        head_dim(head_dim_of(config)),
        heads(config.heads / ranks),
        kv_heads(kv_heads_of(config) / ranks),
        ffn(config.ffn / ranks),
        vocab((config.vocab + ranks - 1) / ranks) {}
};

Tensor whole_sequence(const Ranks& ranks, const Tensor& part) {
  return ranks.tensor != nullptr ? ranks.tensor->gather(part) : part;
}

/// A product whose input is split: each rank has a term of the sum.
Tensor summed_product(const nn::Linear& linear, const Ranks& ranks, const Tensor& x) {
  const nn::InModule scope(linear);
  const Tensor terms = linear(x);
  return ranks.tensor != nullptr ? ranks.tensor->sum_and_split(terms) : terms;
}

class FusedNorm : public Module {
 public:
  /// The last norm gives its result to all `ranks`.
  FusedNorm(Module* parent, std::string name, std::int64_t width, const Ranks& ranks = {})
      : Module(parent, std::move(name)), ranks_(ranks) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {width});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    return call(std::move(x), [this](const Tensor& in) {
      const Tensor result = eager::fused_rms_norm(in, weight_);
      return whole_sequence(ranks_, result);
    });
  }

 private:
  Ranks ranks_;
  Tensor weight_;
};

/// ComplexRoPE: each layer has a table of its own, as long as a sequence.
class ComplexRope : public Module {
 public:
  ComplexRope(Module* parent, std::int64_t length, std::int64_t head_dim) : Module(parent, "rope") {
    const nn::InModule scope(*this);
    register_buffer("cache", eager::empty_on(runtime(), context().place, {length, head_dim / 2},
                                             DType::complex64));
  }

  void rotate(Tensor& query, Tensor& key, const Tensor& positions) {
    const nn::InModule scope(*this);
    Tensor cache = cache_at(query, positions);
    Tensor rotated_query;
    Tensor rotated_key;
    {
      Tensor xq = as_complex(query);
      Tensor xk = as_complex(key);
      Tensor xq_out = turned(xq, cache);
      Tensor xk_out = turned(xk, cache);
      rotated_query = eager::type_as(xq_out, query);
      rotated_key = eager::type_as(xk_out, key);
      eager::end_of_frame(xq, xk, xq_out, xk_out);
    }
    cache.reset();
    query = std::move(rotated_query);
    key = std::move(rotated_key);
  }

  /// init_states: a new table takes the place of the empty one.
  void compute_table() {
    const nn::InModule scope(*this);
    nn::NamedTensor& cache = own_buffers().front();
    cache.tensor = frequencies(cache.tensor);
  }

 private:
  // _maybe_check_max_pos, then _reshape_for_broadcast: a row of the table for each position.
  Tensor cache_at(const Tensor& query, const Tensor& positions) {
    const Tensor& table = own_buffers().front().tensor;
    check_positions(positions);
    if (positions.size(0) == 1) {
      const Tensor rows = eager::index(table, eager::squeeze(positions, 0));
      return eager::view(rows, {1, query.size(1), 1, table.size(1)});
    }
    const Dims sizes{query.size(0), query.size(1), 1, table.size(1)};
    const Tensor places = eager::view(positions, {query.size(0), query.size(1), 1, 1});
    return eager::gather(table, 1, eager::expand(places, sizes));
  }

  static void check_positions(const Tensor& positions) {
    Tensor is_valid = eager::compare("le", {positions});
    const Tensor all = eager::reduce_plain("all", is_valid, {}, eager::KeepDim::no, DType::boolean);
    is_valid.reset();
  }

  // _precompute_cache; what has the width of a head is left out.
  Tensor frequencies(const Tensor& table) {
    const eager::OpScope op(runtime(), "precompute_cache");
    const Dims& sizes = table.sizes();
    Tensor t = eager::arange(runtime(), sizes[0]);
    Tensor freqs = eager::empty(runtime(), sizes, DType::fp32);
    Tensor ones = eager::empty_like(freqs);
    Tensor cis = eager::empty(runtime(), sizes, DType::complex64);
    runtime().categorize(cis, Category::buffer);
    eager::end_of_frame(ones, freqs, t);
    return cis;
  }
};

// split along the groups' dimension, then heads again: q must be copied to be reshaped, k and v are
// copied to be contiguous.
Tensor heads_of(const Tensor& part, std::int64_t head_dim) {
  return eager::contiguous(
      eager::reshape(part, {part.size(0), part.size(1), part.size(2) * part.size(3), head_dim}));
}

class FusedAttention : public Module {
 public:
  FusedAttention(Module* parent, const LocalSizes& sizes, const Ranks& ranks)
      : Module(parent, "attention"),
        ranks_(ranks),
        head_dim_(sizes.head_dim),
        heads_per_kv_(sizes.heads / sizes.kv_heads),
        rope_(this, *std::ranges::max_element(context().plan.seq), head_dim_),
        qkv_linear_(this, "qkv_linear"),
        wqkv_(&qkv_linear_, "wqkv", sizes.dim, (sizes.heads + 2 * sizes.kv_heads) * head_dim_,
              nn::Bias::none),
        wo_(this, "wo", sizes.heads * head_dim_, sizes.dim, nn::Bias::none) {}

  Tensor operator()(Tensor x, const Tensor& positions) {
    const nn::InModule scope(*this);
    return call(std::move(x), [&](const Tensor& in) { return attended(in, positions); });
  }

  void init_states(const InitialValues& values) {
    rope_.compute_table();
    values.fused(wqkv_, heads_per_kv_);
    values.truncated_normal(wo_);
  }

 private:
  Tensor attended(const Tensor& x, const Tensor& positions) {
    const Tensor whole = whole_sequence(ranks_, x);
    eager::TensorList qkv = split(whole);
    rope_.rotate(qkv[0], qkv[1], positions);
    Tensor out = eager::contiguous(inner_attention(qkv));
    Tensor result = summed_product(wo_, ranks_, eager::flatten(out, 2, 3));
    eager::end_of_frame(qkv[0], qkv[1], qkv[2], out);  // x is the caller's
    return result;
  }

  Tensor inner_attention(const eager::TensorList& qkv) {
    if (ranks_.context == nullptr) {
      return flex_attention(qkv[0], qkv[1], qkv[2]);
    }
    const KeysAndValues whole = gathered(*ranks_.context, qkv[1], qkv[2]);
    return flex_attention(qkv[0], whole.key, whole.value);
  }

  eager::TensorList split(const Tensor& x) {
    const nn::InModule scope(qkv_linear_);
    const Tensor fused = wqkv_(x);
    const Tensor groups =
        eager::view(fused, {x.size(0), x.size(1), -1, heads_per_kv_ + 2, head_dim_});
    const eager::TensorList parts = eager::split_with_sizes(groups, {heads_per_kv_, 1, 1}, -2);
    eager::TensorList heads;
    for (const Tensor& part : parts) {
      heads.push_back(heads_of(part, head_dim_));
    }
    return heads;
  }

  Ranks ranks_;
  std::int64_t head_dim_;
  std::int64_t heads_per_kv_;
  ComplexRope rope_;
  nn::Container qkv_linear_;
  nn::Linear wqkv_;
  nn::Linear wo_;
};

class FeedForward : public Module {
 public:
  FeedForward(Module* parent, const LocalSizes& sizes, const Ranks& ranks)
      : Module(parent, "feed_forward"),
        ranks_(ranks),
        w1_(this, "w1", sizes.dim, sizes.ffn, nn::Bias::none),
        w2_(this, "w2", sizes.ffn, sizes.dim, nn::Bias::none),
        w3_(this, "w3", sizes.dim, sizes.ffn, nn::Bias::none) {}

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    return call(std::move(x), [this](const Tensor& in) {
      const Tensor whole = whole_sequence(ranks_, in);
      return summed_product(w2_, ranks_, models::silu_gated(w1_, w3_, whole));
    });
  }

  void init_states(const InitialValues& values) {
    values.truncated_normal(w1_);
    values.truncated_normal(w2_);
    values.truncated_normal(w3_);
  }

 private:
  Ranks ranks_;
  nn::Linear w1_;
  nn::Linear w2_;
  nn::Linear w3_;
};

class Block : public Module {
 public:
  Block(Module* parent, std::int64_t index, const LocalSizes& sizes, const Ranks& ranks)
      : Module(parent, std::to_string(index)),
        attention_(this, sizes, ranks),
        feed_forward_(this, sizes, ranks),
        attention_norm_(this, "attention_norm", sizes.dim),
        ffn_norm_(this, "ffn_norm", sizes.dim) {}

  Tensor operator()(const Tensor& x, const Tensor& positions) {
    const nn::InModule scope(*this);
    return models::residual_block(
        x, [&](const Tensor& in) { return attention_(attention_norm_(in), positions); },
        [this](const Tensor& h) { return feed_forward_(ffn_norm_(h)); });
  }

  void init_states(const InitialValues& values) {
    attention_.init_states(values);
    feed_forward_.init_states(values);
  }

 private:
  FusedAttention attention_;
  FeedForward feed_forward_;
  FusedNorm attention_norm_;
  FusedNorm ffn_norm_;
};

std::unique_ptr<SequenceRanks> ranks_of(const nn::ModelContext& context, int size) {
  return size > 1
             ? std::make_unique<SequenceRanks>(context.runtime, size, context.plan.parallel.backend)
             : nullptr;
}

class Decoder : public models::LanguageModel {
 public:
  Decoder(nn::ModelContext& context, const TorchtitanConfig& config)
      : LanguageModel(context),
        context_ranks_(ranks_of(context, context.plan.parallel.cp)),
        tensor_ranks_(ranks_of(context, context.plan.parallel.tp)),
        ranks_{.context = context_ranks_.get(), .tensor = tensor_ranks_.get()},
        sizes_(config, context.plan.parallel.tp),
        tok_embeddings_(this, "tok_embeddings", sizes_.vocab, sizes_.dim),
        layers_(this, "layers") {
    for (std::int64_t i = 0; i < config.layers; ++i) {
      blocks_.push_back(std::make_unique<Block>(&layers_, i, sizes_, ranks_));
    }
    norm_ = std::make_unique<FusedNorm>(this, "norm", sizes_.dim, ranks_);
    lm_head_ =
        std::make_unique<nn::Linear>(this, "lm_head", sizes_.dim, sizes_.vocab, nn::Bias::none);
    if (ranks_.tensor != nullptr) {
      tok_embeddings_.set_lookup([this](const Tensor& weight, const Tensor& tokens) {
        const Tensor terms = parallel_embedding(weight, tokens);
        return ranks_.tensor->sum_and_split(terms);
      });
    }
  }

  // _skip_lm_head: the loss applies the head.
  models::Outputs forward(models::Inputs inputs) override {
    Tensor h = tok_embeddings_(inputs.input_ids);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      Block& block = *blocks_[i];
      h = models::run_block(block, i,
                            [&block, positions = inputs.positions](const std::vector<Tensor>& in) {
                              return block(in[0], positions);
                            },
                            {h});
    }
    models::Outputs out;
    out.hidden_states = (*norm_)(h);
    return out;
  }

  [[nodiscard]] const nn::Linear* separate_head() const override { return lm_head_.get(); }

  void init_states() override {
    const InitialValues values(context().plan);
    for (const auto& block : blocks_) {
      block->init_states(values);
    }
    values.truncated_normal(*lm_head_);
  }

 private:
  std::unique_ptr<SequenceRanks> context_ranks_;
  std::unique_ptr<SequenceRanks> tensor_ranks_;
  Ranks ranks_;
  LocalSizes sizes_;
  nn::Embedding tok_embeddings_;
  nn::Container layers_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<FusedNorm> norm_;
  std::unique_ptr<nn::Linear> lm_head_;
};

TorchtitanConfig config_of(const ModelConfig& config) {
  return config.is<TorchtitanConfig>() ? config.as<TorchtitanConfig>()
                                       : to_torchtitan(config.as<LlamaConfig>());
}

}  // namespace

std::unique_ptr<models::LanguageModel> make_decoder(nn::ModelContext& context,
                                                    const TorchtitanConfig& config) {
  return std::make_unique<Decoder>(context, config);
}

std::unique_ptr<models::LanguageModel> make_model(nn::ModelContext& context) {
  const TorchtitanConfig config = config_of(context.plan.model.config);
  return is_recent_torchtitan(context.plan) ? make_decoder(context, config)
                                            : make_published_decoder(context, config);
}

}  // namespace highwater::torchtitan
