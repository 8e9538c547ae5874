// Activations are [s, b, h], the sequence first. Sources, all of Megatron-Core 0.16.1:
// core/transformer/{transformer_block,transformer_layer,attention,dot_product_attention,mlp}.py and
// core/models/common/embeddings/*.py, with the local layer spec and its fused kernels.
//
// Norms and learned positions are made on the host in fp32, split layers on the device in the
// parameters' type; GPTModel then moves to the device and is converted, as get_model() does.
#include "workloads/megatron/gpt_model.hpp"

#include <array>
#include <optional>
#include <utility>

#include "workloads/megatron/context_parallel.hpp"
#include "workloads/megatron/fused_ops.hpp"
#include "workloads/megatron/moe_layer.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::megatron {
namespace {

using eager::Scoped;
using models::Inputs;
using models::Outputs;
using nn::ModelContext;
using nn::Module;
using ColumnBias = ColumnParallelLinear::Bias;

/// What all layers of one model share.
struct Shared {
  const Config& config;
  TensorParallel& tp;
  ContextParallelGroup& cp;
  ExpertParallel& experts;
};

/// Makes parameters on the host in fp32, as torch.nn's layers are made inside GPTModel.
class OnHost {
 public:
  explicit OnHost(ModelContext& context)
      : place_(context.place, eager::Place::host), dtype_(context.dtype, DType::fp32) {}

 private:
  Scoped<eager::Place> place_;
  Scoped<DType> dtype_;
};

/// FusedLayerNorm, or RMSNorm of Transformer Engine.
class Norm : public Module {
 public:
  Norm(Module* parent, std::string name, const Config& config)
      : Module(parent, std::move(name)), rms_(config.rms_norm) {
    const nn::InModule scope(*this);
    const OnHost on_host(context());
    weight_ = make_parameter("weight", {config.hidden});
    if (!rms_) {
      bias_ = make_parameter("bias", {config.hidden});
    }
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    return rms_ ? rms_norm(x, weight_) : eager::layer_norm(x, weight_, bias_);
  }

 private:
  bool rms_;
  Tensor weight_;
  Tensor bias_;
};

struct QueryKeyValue {
  Tensor query;  ///< [s, b, heads, d]
  Tensor key;    ///< [s, b, groups, d]
  Tensor value;
};

/// DotProductAttention with the fused softmax: scores of a batch times the heads at once, through
/// the global buffer that baddbmm ignores (beta 0).
class UnfusedCore {
 public:
  UnfusedCore(ModelContext& context, const Shared& shared)
      : context_(context),
        tp_(shared.tp),
        repeats_(shared.config.heads / shared.config.kv_heads),
        dropout_(context.dropout(shared.config.attention_dropout)) {}

  Tensor operator()(QueryKeyValue in) const {
    if (repeats_ > 1) {
      in.key = eager::repeat_interleave(in.key, repeats_, 2);
      in.value = eager::repeat_interleave(in.value, repeats_, 2);
    }
    const Dims sizes = in.query.sizes();
    const std::int64_t heads = sizes[1] * sizes[2];
    in.query = by_head(in.query, heads);
    in.key = by_head(in.key, heads);
    const Tensor buffer = tp_.global_buffer({heads, sizes[0], sizes[0]}, in.query.dtype());
    Tensor scores = eager::baddbmm(buffer, eager::transpose(in.query, 0, 1),
                                   eager::transpose(eager::transpose(in.key, 0, 1), 1, 2));
    Tensor probabilities = eager::dropout(causal_softmax(scores), dropout_, context_.training);
    in.value = by_head(in.value, heads);
    Tensor mixed = eager::bmm(probabilities, eager::transpose(in.value, 0, 1));
    mixed = eager::contiguous(
        eager::permute(eager::view(mixed, {sizes[1], sizes[2], sizes[0], sizes[3]}), {2, 0, 1, 3}));
    eager::end_of_frame(in.query, in.key, in.value, scores, probabilities);
    return eager::view(mixed, {sizes[0], sizes[1], -1});
  }

 private:
  static Tensor by_head(const Tensor& states, std::int64_t heads) {
    return eager::reshape(states, {states.size(0), heads, -1});
  }

  ModelContext& context_;
  TensorParallel& tp_;
  std::int64_t repeats_;
  double dropout_;
};

/// FlashAttention: views in, the result copied to [s, b, h].
class FlashCore {
 public:
  FlashCore(ModelContext& context, const Shared& shared)
      : context_(context), dropout_(context.dropout(shared.config.attention_dropout)) {}

  Tensor operator()(const QueryKeyValue& in) const {
    const Scoped<std::optional<SdpaBackend>> backend(context_.runtime.sdpa_backend,
                                                     SdpaBackend::flash);
    const auto heads_first = [](const Tensor& states) {
      return eager::permute(states, {1, 2, 0, 3});
    };
    Tensor out = eager::scaled_dot_product_attention(
        heads_first(in.query), heads_first(in.key), heads_first(in.value), {},
        {.dropout = context_.training ? dropout_ : 0.0,
         .is_causal = true,
         .enable_gqa = in.query.size(2) != in.key.size(2)});
    out = eager::contiguous(eager::permute(out, {2, 0, 1, 3}));
    return eager::view(out, {out.size(0), out.size(1), -1});
  }

 private:
  ModelContext& context_;
  double dropout_;
};

class SelfAttention : public Module {
 public:
  SelfAttention(Module* parent, const Shared& shared)
      : Module(parent, "self_attention"),
        shared_(shared),
        head_dim_(shared.config.head_dim),
        groups_(shared.config.kv_heads / shared.tp.size()),
        per_group_(shared.config.heads / shared.config.kv_heads),
        linear_proj_(this, "linear_proj", shared.tp, shared.config.heads * head_dim_,
                     shared.config.hidden, shared.config.linear_bias),
        linear_qkv_(this, "linear_qkv", shared.tp, shared.config.hidden,
                    (shared.config.heads + 2 * shared.config.kv_heads) * head_dim_,
                    shared.config.qkv_bias ? ColumnBias::added : ColumnBias::none) {}

  WithBias operator()(Tensor hidden_states, const Tensor& frequencies) const {
    const nn::InModule scope(*this);
    QueryKeyValue split_up =
        split(hidden_states);  // the tuple outlives the names it is unpacked to
    QueryKeyValue states = split_up;
    if (frequencies.defined()) {
      states.query = rotate(states.query, frequencies);
      states.key = rotate(states.key, frequencies);
    }
    Tensor mixed = core_attention(states);
    WithBias result = linear_proj_(mixed);
    eager::end_of_frame(split_up.query, split_up.key, split_up.value, states.query, states.key,
                        states.value, mixed);
    return result;
  }

 private:
  [[nodiscard]] QueryKeyValue split(const Tensor& hidden_states) const {
    const Tensor mixed = linear_qkv_(hidden_states).output;
    const std::int64_t s = mixed.size(0);
    const std::int64_t b = mixed.size(1);
    const Tensor by_group = eager::view(mixed, {s, b, groups_, (per_group_ + 2) * head_dim_});
    const TensorList parts =
        eager::split_with_sizes(by_group, {per_group_ * head_dim_, head_dim_, head_dim_}, 3);
    return {eager::reshape(parts[0], {s, b, -1, head_dim_}), parts[1], parts[2]};
  }

  [[nodiscard]] Tensor run_core(const QueryKeyValue& states) const {
    if (shared_.cp.size() > 1) {
      const double dropout = context().dropout(shared_.config.attention_dropout);
      return shared_.cp.attend(states.query, states.key, states.value,
                               context().training ? dropout : 0.0);
    }
    return context().is_eager() ? UnfusedCore(context(), shared_)(states)
                                : FlashCore(context(), shared_)(states);
  }

  // recompute_granularity selective, recompute_modules core_attn.
  [[nodiscard]] Tensor core_attention(const QueryKeyValue& states) const {
    if (context().plan.checkpoint.kind != CheckpointKind::selective_attention ||
        !context().training) {
      return run_core(states);
    }
    const auto segment = [this](const std::vector<Tensor>& in) {
      return TensorList{run_core({in[0], in[1], in[2]})};
    };
    return nn::checkpoint_reentrant(runtime(), segment,
                                    {states.query, states.key, states.value})[0];
  }

  Shared shared_;
  std::int64_t head_dim_;
  std::int64_t groups_;
  std::int64_t per_group_;
  RowParallelLinear linear_proj_;
  ColumnParallelLinear linear_qkv_;
};

class Mlp : public FeedForward {
 public:
  Mlp(Module* parent, const Shared& shared)
      : FeedForward(parent, "mlp"),
        gated_(shared.config.gated),
        linear_fc1_(this, "linear_fc1", shared.tp, shared.config.hidden,
                    shared.config.ffn * (gated_ ? 2 : 1),
                    shared.config.linear_bias ? ColumnBias::skipped : ColumnBias::none),
        linear_fc2_(this, "linear_fc2", shared.tp, shared.config.ffn, shared.config.hidden,
                    shared.config.linear_bias) {}

  WithBias operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    Tensor inner = activated(hidden_states);
    return linear_fc2_(std::move(inner));
  }

 private:
  [[nodiscard]] Tensor activated(const Tensor& hidden_states) const {
    const WithBias wide = linear_fc1_(hidden_states);
    return gated_ ? swiglu(wide.output) : bias_gelu(wide.output, wide.bias);
  }

  bool gated_;
  ColumnParallelLinear linear_fc1_;
  RowParallelLinear linear_fc2_;
};

std::unique_ptr<FeedForward> make_feed_forward(Module* parent, const Shared& shared) {
  if (shared.config.experts > 0) {
    return make_moe_layer(parent, shared.config, shared.tp, shared.experts);
  }
  return std::make_unique<Mlp>(parent, shared);
}

class TransformerLayer : public Module {
 public:
  TransformerLayer(Module* parent, std::size_t index, const Shared& shared)
      : Module(parent, std::to_string(index)),
        dropout_(context().dropout(shared.config.hidden_dropout)),
        input_layernorm_(this, "input_layernorm", shared.config),
        self_attention_(this, shared),
        pre_mlp_layernorm_(this, "pre_mlp_layernorm", shared.config),
        mlp_(make_feed_forward(this, shared)) {}

  Tensor operator()(Tensor hidden_states, const Tensor& frequencies) const {
    const nn::InModule scope(*this);
    const Tensor middle = attend(hidden_states, frequencies);
    Tensor normalized = pre_mlp_layernorm_(middle);
    WithBias result = (*mlp_)(normalized);
    Tensor output = add(result, middle);
    eager::end_of_frame(normalized, result.output);
    return output;
  }

 private:
  [[nodiscard]] Tensor attend(const Tensor& hidden_states, const Tensor& frequencies) const {
    const Tensor normalized = input_layernorm_(hidden_states);
    const WithBias attended = self_attention_(normalized, frequencies);
    return add(attended, hidden_states);
  }

  [[nodiscard]] Tensor add(const WithBias& x, const Tensor& residual) const {
    return bias_dropout_add(x.output, x.bias, residual, context().training ? dropout_ : 0.0);
  }

  double dropout_;
  Norm input_layernorm_;
  SelfAttention self_attention_;
  Norm pre_mlp_layernorm_;
  std::unique_ptr<FeedForward> mlp_;
};

class TransformerBlock : public Module {
 public:
  TransformerBlock(Module* parent, const Shared& shared, const Stage& stage)
      : Module(parent, "decoder"),
        layers_(this, "layers"),
        blocks_(layers_, static_cast<std::size_t>(stage.layers), shared) {
    if (stage.has_head) {
      final_layernorm_.emplace(this, "final_layernorm", shared.config);
    }
  }

  Tensor operator()(Tensor hidden_states, const Tensor& frequencies) const {
    const nn::InModule scope(*this);
    if (hidden_states->base.defined()) {  // make_viewless_tensor: a place holder for a moment
      const Tensor place = eager::empty(runtime(), {1}, hidden_states.dtype());
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const TransformerLayer& layer = blocks_[i];
      hidden_states = run(layer, i, hidden_states, frequencies);
    }
    return final_layernorm_ ? (*final_layernorm_)(hidden_states) : hidden_states;
  }

 private:
  // _checkpointed_forward: tensor_parallel.checkpoint, which is of the reentrant kind.
  [[nodiscard]] Tensor run(const TransformerLayer& layer, std::size_t index,
                           const Tensor& hidden_states, const Tensor& frequencies) const {
    const Checkpoint& checkpoint = context().plan.checkpoint;
    const auto n = static_cast<std::size_t>(checkpoint.n);
    const bool recomputes = checkpoint.kind == CheckpointKind::full ||
                            (checkpoint.kind == CheckpointKind::every_n && index % n == n - 1);
    if (!recomputes || !context().training) {
      return layer(hidden_states, frequencies);
    }
    const auto segment = [&layer](const std::vector<Tensor>& in) {
      return TensorList{layer(in[0], in[1])};
    };
    return nn::checkpoint_reentrant(runtime(), segment, {hidden_states, frequencies})[0];
  }

  nn::Container layers_;
  nn::BlockList<TransformerLayer> blocks_;
  std::optional<Norm> final_layernorm_;
};

class PositionEmbedding : public nn::Embedding {
 public:
  using Embedding::Embedding;
};

/// LanguageModelEmbedding: [s, b, h], or [s / size, b, h] with sequence parallelism.
class LanguageModelEmbedding : public Module {
 public:
  LanguageModelEmbedding(Module* parent, const Shared& shared, std::int64_t rows)
      : Module(parent, "embedding"),
        tp_(shared.tp),
        dropout_(context().dropout(shared.config.hidden_dropout)),
        word_embeddings_(this, "word_embeddings", shared.tp, rows, shared.config.hidden,
                         shared.tp.splits_sequence() && shared.config.positions == 0) {
    if (shared.config.positions > 0) {
      const OnHost on_host(context());
      position_embeddings_.emplace(this, "position_embeddings", shared.config.positions,
                                   shared.config.hidden);
    }
  }

  [[nodiscard]] const Tensor& word_weight() const { return word_embeddings_.weight(); }

  Tensor operator()(const Tensor& ids, const Tensor& positions) const {
    const nn::InModule scope(*this);
    Tensor words = word_embeddings_(ids);
    Tensor places;
    Tensor embeddings = words;
    if (position_embeddings_) {
      places = (*position_embeddings_)(positions);
      embeddings = eager::add(words, places);
    }
    embeddings = arranged(std::move(embeddings));
    embeddings = eager::dropout(embeddings, dropout_, context().training);
    eager::end_of_frame(words, places);
    return embeddings;
  }

 private:
  [[nodiscard]] Tensor arranged(Tensor embeddings) const {
    const bool is_split = tp_.splits_sequence() && !position_embeddings_;
    if (!is_split) {
      embeddings = eager::contiguous(eager::transpose(embeddings, 0, 1));
    }
    if (tp_.splits_sequence()) {
      if (!is_split) {
        embeddings = scatter_to_sequence(tp_, embeddings);
      }
      embeddings = eager::clone(embeddings);
    }
    return embeddings;
  }

  TensorParallel& tp_;
  double dropout_;
  VocabParallelEmbedding word_embeddings_;
  std::optional<PositionEmbedding> position_embeddings_;
};

class Gpt : public models::LanguageModel {
 public:
  Gpt(ModelContext& context, Config config, const Stage& stage)
      : LanguageModel(context),
        config_(std::move(config)),
        tp_(context.runtime, context.plan.parallel),
        cp_(context.runtime, context.plan.parallel),
        experts_(context.runtime, context.plan.parallel),
        shared_{config_, tp_, cp_, experts_} {
    make_modules(stage);
  }

  Gpt(Module& parent, std::string name, Config config, const Stage& stage)
      : LanguageModel(&parent, std::move(name)),
        config_(std::move(config)),
        tp_(runtime(), context().plan.parallel),
        cp_(runtime(), context().plan.parallel),
        experts_(runtime(), context().plan.parallel),
        shared_{config_, tp_, cp_, experts_} {
    make_modules(stage);
  }

  // forward_step: the batch's positions and loss mask, the model, the masked sum of its losses.
  Outputs forward(Inputs inputs) override {
    Tensor positions = embedding_ ? batch_tensor(inputs.input_ids, DType::int64) : Tensor{};
    Tensor loss_mask = head_ ? batch_tensor(inputs.labels, DType::fp32) : Tensor{};
    Outputs outputs;
    if (!head_) {
      outputs.hidden_states = hidden_states(inputs, positions);
      return outputs;
    }
    Tensor losses = model_forward(inputs, positions);
    outputs.loss = masked_sum(losses, loss_mask);
    eager::end_of_frame(positions, loss_mask, losses);
    return outputs;
  }

 private:
  void make_modules(const Stage& stage) {
    const std::int64_t rows =
        padded_vocab(config_.vocab, context().plan.parallel.megatron.vocab_divisor, tp_.size());
    if (stage.has_embedding) {
      embedding_.emplace(this, shared_, rows);
    }
    make_frequencies();
    decoder_.emplace(this, shared_, stage);
    if (stage.has_head) {
      make_head(rows);
    }
  }

  // RotaryEmbedding.__init__: 1 / base ** (arange(0, dim, 2) / dim), a plain attribute.
  void make_frequencies() {
    if (config_.positions > 0) {
      return;
    }
    const auto make = [this](const char* op) {
      const eager::OpScope scope(runtime(), op);
      return eager::empty(runtime(), {config_.head_dim / 2}, DType::fp32);
    };
    Tensor range = make("arange");
    Tensor exponents = make("div");
    range.reset();
    Tensor powers;
    {
      powers = make("pow");
      const eager::OpScope scope(runtime(), "pow");
      const Tensor base = eager::empty(runtime(), {}, DType::int64);
    }
    exponents.reset();
    Tensor inverse = make("reciprocal");
    frequencies_ = make("mul");
    inverse.reset();
    powers.reset();
    runtime().categorize(frequencies_, Category::buffer);
  }

  void make_head(std::int64_t rows) {
    if (config_.tied && embedding_) {
      head_.emplace(this, "output_layer", tp_,
                    ColumnParallelLinear::SharedWeight{embedding_->word_weight()});
    } else {
      head_.emplace(this, "output_layer", tp_, config_.hidden, rows, ColumnBias::none);
    }
  }

  Tensor batch_tensor(const Tensor& ids, DType dtype) {
    Dims sizes = ids.sizes();
    sizes.back() *= cp_.size();
    Tensor tensor = eager::empty(runtime(), sizes, dtype);
    runtime().categorize(tensor, Category::input);
    runtime().synchronize();
    Tensor part = cp_.own_part(tensor, 1);
    runtime().categorize(part, Category::input);
    return part;
  }

  // get_emb: lives in a cache of the module's forward, made once per sequence length. Each rank
  // keeps its part of the sequence.
  Tensor rotary_embedding(std::int64_t length) {
    if (config_.positions > 0) {
      return {};
    }
    for (const Tensor& known : rotary_cache_) {
      if (known.size(0) * cp_.size() == length) {
        return known;
      }
    }
    Tensor angles;
    {
      Tensor places = eager::arange(runtime(), length, DType::fp32);
      places = eager::add(places, 0.0);
      angles = eager::mul(eager::unsqueeze(places, 1), frequencies_);
    }
    const std::array twice{angles, angles};
    const Tensor joined = eager::cat(twice, -1);
    const Tensor all = eager::unsqueeze(eager::unsqueeze(joined, 1), 1);
    rotary_cache_.push_back(cp_.own_part(all, 0));
    return rotary_cache_.back();
  }

  // GPTModel.forward.
  Tensor model_forward(const Inputs& inputs, const Tensor& positions) {
    const Tensor states = hidden_states(inputs, positions);
    const Tensor logits = (*head_)(states).output;
    return language_model_loss(inputs.labels, logits);
  }

  // The embedding, or what the previous stage sent (set_input_tensor), through the layers.
  Tensor hidden_states(const Inputs& inputs, const Tensor& positions) {
    Tensor states = embedding_ ? (*embedding_)(inputs.input_ids, positions) : inputs.hidden_states;
    const Tensor frequencies = rotary_embedding(length_of(inputs));
    states = (*decoder_)(states, frequencies);
    return states;
  }

  // get_rotary_seq_len: of the whole sequence.
  [[nodiscard]] std::int64_t length_of(const Inputs& inputs) const {
    if (embedding_) {
      return inputs.input_ids.size(1) * cp_.size();
    }
    const int parts = cp_.size() * (tp_.splits_sequence() ? tp_.size() : 1);
    return inputs.hidden_states.size(0) * parts;
  }

  // compute_language_model_loss.
  Tensor language_model_loss(const Tensor& labels_in, const Tensor& logits) {
    const Tensor labels = eager::contiguous(eager::transpose(labels_in, 0, 1));
    Tensor loss = vocab_parallel_cross_entropy(tp_, logits, labels);
    loss = eager::contiguous(eager::transpose(loss, 0, 1));
    return loss;
  }

  static Tensor masked_sum(const Tensor& losses, const Tensor& loss_mask) {
    const Tensor masked = eager::mul(eager::view(losses, {-1}), eager::view(loss_mask, {-1}));
    return eager::sum(masked, {}, false);
  }

  Config config_;
  TensorParallel tp_;
  ContextParallelGroup cp_;
  ExpertParallel experts_;
  Shared shared_;
  std::optional<LanguageModelEmbedding> embedding_;
  Tensor frequencies_;
  std::vector<Tensor> rotary_cache_;
  std::optional<TransformerBlock> decoder_;
  std::optional<ColumnParallelLinear> head_;
};

std::unique_ptr<models::LanguageModel> on_device(std::unique_ptr<Gpt> model) {
  nn::move_to_cuda(*model);
  nn::convert(*model, model->context().dtype);
  return model;
}

}  // namespace

std::unique_ptr<models::LanguageModel> make_gpt(nn::ModelContext& context, const Config& config,
                                                const Stage& stage) {
  return on_device(std::make_unique<Gpt>(context, config, stage));
}

std::unique_ptr<models::LanguageModel> make_gpt(nn::Module& parent, std::string name,
                                                const Config& config, const Stage& stage) {
  return on_device(std::make_unique<Gpt>(parent, std::move(name), config, stage));
}

bool has_partial_gradient(const nn::NamedTensor& parameter) {
  return parameter.layer == nn::LayerKind::norm || parameter.name.ends_with("linear_proj.bias") ||
         parameter.name.ends_with("linear_fc2.bias") || parameter.name.ends_with("router.weight");
}

}  // namespace highwater::megatron
