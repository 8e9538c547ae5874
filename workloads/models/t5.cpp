// T5 (transformers 5.12, models/t5/modeling_t5.py): encoder and decoder, with one relative position
// bias per stack, which all its blocks share.
//
// Not imitated: the clamp that follows each part of a block in fp16.
#include "workloads/plan/model/families/t5.hpp"

#include <utility>

#include "workloads/models/t5_attention.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

namespace {

class T5Norm : public Module {
 public:
  T5Norm(Module* parent, std::string name, std::int64_t width) : Module(parent, std::move(name)) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {width});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor hidden_states) const {
    const nn::InModule scope(*this);
    return call(std::move(hidden_states), [this](const Tensor& in) { return normalized(in); });
  }

 private:
  Tensor normalized(Tensor hidden_states) const {
    Tensor variance = mean_square(hidden_states);
    hidden_states = scaled(hidden_states, variance);
    if (is_low_precision(weight_.dtype())) {
      hidden_states = eager::to_dtype(hidden_states, weight_.dtype());
    }
    Tensor result = eager::mul(weight_, hidden_states);
    eager::end_of_frame(hidden_states, variance);
    return result;
  }

  static Tensor mean_square(const Tensor& states) {
    Tensor wide = eager::to_dtype(states, DType::fp32);
    const Tensor square = eager::pow(wide, 2.0);
    wide.reset();
    return eager::mean(square, -1, eager::KeepDim::yes);
  }

  static Tensor scaled(const Tensor& states, const Tensor& variance) {
    Tensor shifted = eager::add(variance, 1e-6);
    const Tensor scale = eager::rsqrt(shifted);
    shifted.reset();
    return eager::mul(states, scale);
  }

  Tensor weight_;
};

// DenseReluDense: plain or gated.
class T5Dense : public Module {
 public:
  T5Dense(Module* parent, const T5Config& config) : Module(parent, "DenseReluDense") {
    const auto in = [&](std::string name) {
      return std::make_unique<nn::Linear>(this, std::move(name), config.d_model, config.d_ff,
                                          nn::Bias::none);
    };
    wi_ = in(config.is_gated_act ? "wi_0" : "wi");
    if (config.is_gated_act) {
      wi_1_ = in("wi_1");
    }
    wo_ = std::make_unique<nn::Linear>(this, "wo", config.d_ff, config.d_model, nn::Bias::none);
    dropout_ = std::make_unique<nn::Dropout>(this, "dropout", config.dropout_rate);
    act_ = std::make_unique<nn::ActivationFunction>(this, "act", config.dense_act_fn);
  }

  Tensor operator()(Tensor hidden_states) const {
    const nn::InModule scope(*this);
    Tensor gate;
    Tensor straight;
    if (wi_1_) {
      gate = (*act_)((*wi_)(hidden_states));
      straight = (*wi_1_)(hidden_states);
      hidden_states = eager::mul(gate, straight);
    } else {
      hidden_states = (*wi_)(hidden_states);
      hidden_states = (*act_)(hidden_states);
    }
    hidden_states = (*dropout_)(hidden_states);
    hidden_states = eager::to_dtype(hidden_states, wo_->weight.dtype());
    hidden_states = (*wo_)(hidden_states);
    eager::end_of_frame(gate, straight);
    return hidden_states;
  }

 private:
  std::unique_ptr<nn::Linear> wi_;
  std::unique_ptr<nn::Linear> wi_1_;
  std::unique_ptr<nn::Linear> wo_;
  std::unique_ptr<nn::Dropout> dropout_;
  std::unique_ptr<nn::ActivationFunction> act_;
};

class T5FeedForward : public Module {
 public:
  T5FeedForward(Module* parent, std::string name, const T5Config& config)
      : Module(parent, std::move(name)),
        dense_(this, config),
        layer_norm_(this, "layer_norm", config.d_model),
        dropout_(this, "dropout", config.dropout_rate) {}

  Tensor operator()(Tensor hidden_states) const {
    const nn::InModule scope(*this);
    Tensor forwarded = layer_norm_(hidden_states);
    forwarded = dense_(forwarded);
    hidden_states = plus_dropped(hidden_states, forwarded);
    forwarded.reset();
    return hidden_states;
  }

 private:
  Tensor plus_dropped(const Tensor& hidden_states, const Tensor& forwarded) const {
    const Tensor dropped = dropout_(forwarded);
    return eager::add(hidden_states, dropped);
  }

  T5Dense dense_;
  T5Norm layer_norm_;
  nn::Dropout dropout_;
};

// T5LayerSelfAttention, T5LayerCrossAttention.
class T5AttentionLayer : public Module {
 public:
  T5AttentionLayer(Module* parent, std::string name, std::string attention, const T5Config& config,
                   T5Role role, nn::Bias relative_bias)
      : Module(parent, std::move(name)),
        attention_(this, std::move(attention), config, role, relative_bias),
        layer_norm_(this, "layer_norm", config.d_model),
        dropout_(this, "dropout", config.dropout_rate) {}

  T5Result operator()(const Tensor& hidden_states, const Tensor& mask, const Tensor& source,
                      const Tensor& bias, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor normed = layer_norm_(hidden_states);
    T5Result attended = attention_(normed, mask, source, bias, cache);
    Tensor states;
    {
      const Tensor dropped = dropout_(attended.states);
      states = eager::add(hidden_states, dropped);
    }
    const bool is_own = !source.defined();
    if (is_own && runtime().transformers >= kUnpacksResults) {  // attention_output is bound again
      attended.states.reset();
    }
    normed.reset();
    attended.states = std::move(states);
    return attended;
  }

 private:
  T5Attention attention_;
  T5Norm layer_norm_;
  nn::Dropout dropout_;
};

/// The positional arguments of a block, in their order.
enum BlockArgument : std::size_t {
  kStates,
  kMask,
  kBias,
  kEncoderStates,
  kEncoderMask,
  kCrossBias,
  kBlockArguments
};

class T5Block : public Module {
 public:
  T5Block(Module* parent, std::size_t index, const T5Config& config, T5Role role)
      : Module(parent, std::to_string(index)),
        layer_(this, "layer"),
        self_attention_(&layer_, "0", "SelfAttention", config, role, nn::bias_if(index == 0)) {
    if (role == T5Role::decoder) {
      cross_attention_ = std::make_unique<T5AttentionLayer>(&layer_, "1", "EncDecAttention", config,
                                                            role, nn::Bias::none);
    }
    feed_forward_ = std::make_unique<T5FeedForward>(&layer_, cross_attention_ ? "2" : "1", config);
  }

  /// Hidden states, position bias and, in the decoder, the bias of the cross attention.
  eager::TensorList operator()(const std::vector<Tensor>& in, const nn::CachePtr& self_cache,
                               const nn::CachePtr& cross_cache) const {
    const nn::InModule scope(*this);
    if (runtime().transformers >= kUnpacksResults) {
      return unpacked(in, self_cache, cross_cache);
    }
    T5Result cross;  // released last where a recomputation stops inside
    T5Result own = self_attention_(in[kStates], in[kMask], {}, in[kBias], self_cache);
    Tensor states = own.states;
    if (cross_attention_) {
      cross = (*cross_attention_)(states, in[kEncoderMask], in[kEncoderStates], in[kCrossBias],
                                  cross_cache);
      states = cross.states;
    }
    states = (*feed_forward_)(states);
    eager::TensorList result{std::move(states), std::move(own.bias)};
    if (cross_attention_) {
      result.push_back(std::move(cross.bias));
    }
    eager::end_of_frame(own.states, cross.states);
    return result;
  }

 private:
  // hidden_states, bias, _ = ...: each call binds the names again, the first one first.
  eager::TensorList unpacked(const std::vector<Tensor>& in, const nn::CachePtr& self_cache,
                             const nn::CachePtr& cross_cache) const {
    T5Result own = self_attention_(in[kStates], in[kMask], {}, in[kBias], self_cache);
    Tensor states = std::move(own.states);
    Tensor weights = std::move(own.weights);
    eager::TensorList biases{std::move(own.bias)};
    if (cross_attention_) {
      T5Result cross = (*cross_attention_)(states, in[kEncoderMask], in[kEncoderStates],
                                           in[kCrossBias], cross_cache);
      states = std::move(cross.states);
      weights = std::move(cross.weights);
      biases.push_back(std::move(cross.bias));
    }
    states = (*feed_forward_)(states);
    biases.insert(biases.begin(), std::move(states));
    return biases;
  }

  nn::Container layer_;
  T5AttentionLayer self_attention_;
  std::unique_ptr<T5AttentionLayer> cross_attention_;
  std::unique_ptr<T5FeedForward> feed_forward_;
};

struct T5Caches {
  nn::CachePtr own;
  nn::CachePtr cross;
};

class T5Stack : public Module {
 public:
  T5Stack(Module* parent, std::string name, const T5Config& config, T5Role role)
      : Module(parent, std::move(name)),
        is_decoder_(role == T5Role::decoder),
        embed_tokens_(this, "embed_tokens", config.vocab_size, config.d_model),
        block_(this, "block"),
        blocks_(
            block_,
            static_cast<std::size_t>(is_decoder_ ? decoder_layers_of(config) : config.num_layers),
            config, role),
        final_layer_norm_(this, "final_layer_norm", config.d_model),
        dropout_(this, "dropout", config.dropout_rate) {}

  Tensor operator()(const Tensor& input_ids, const Tensor& encoder_states,
                    const Tensor& attention_mask, const T5Caches& caches) const {
    const nn::InModule scope(*this);
    const Tensor ids = eager::view(input_ids, {-1, input_ids.size(-1)});
    Tensor inputs_embeds = embed_tokens_(ids);
    Tensor mask = is_decoder_ ? causal_mask(inputs_embeds) : Tensor{};
    if (attention_mask.defined()) {
      nn::look_for_padding(attention_mask);
    }
    Tensor states = dropout_(inputs_embeds);
    eager::TensorList outputs(3);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = blocks_[i];
      std::vector<Tensor> arguments(kBlockArguments);
      arguments[kStates] = states;
      arguments[kMask] = mask;
      arguments[kBias] = outputs[1];
      arguments[kEncoderStates] = encoder_states;
      arguments[kCrossBias] = is_decoder_ ? outputs[2] : Tensor{};
      outputs = run_tuple_block(
          block, i,
          [&block, caches](const std::vector<Tensor>& in) {
            return block(in, caches.own, caches.cross);
          },
          std::move(arguments));
      states = outputs[0];
    }
    states = final_layer_norm_(states);
    states = dropout_(states);
    eager::end_of_frame(mask, inputs_embeds);
    eager::release_list(outputs);
    return states;
  }

  /// Gives up the stack's own table for the shared one.
  void share_embedding(const Tensor& weight) {
    embed_tokens_.tie_parameter("weight", weight);
    embed_tokens_.weight = weight;
  }

 private:
  Tensor causal_mask(const Tensor& inputs_embeds) const {
    const Tensor none;
    return nn::create_causal_mask(
        context(), {.inputs_embeds = inputs_embeds, .attention_mask = none, .position_ids = none});
  }

  bool is_decoder_;
  nn::Embedding embed_tokens_;
  nn::Container block_;
  nn::BlockList<T5Block> blocks_;
  T5Norm final_layer_norm_;
  nn::Dropout dropout_;
};

// tie_weights in modeling_utils.py of 5.12 compares the tables first, which fails on meta; that of
// 5.23 does not.
constexpr Release kTiesOnMeta{5, 13};
constexpr Release kTiesHeadLast{5, 18};  ///< the order of _tied_weights_keys

class T5Model : public LanguageModel {
 public:
  T5Model(nn::ModelContext& context, const T5Config& config)
      : LanguageModel(context),
        vocab_size_(config.vocab_size),
        scales_output_(config.scale_decoder_outputs),
        shared_(this, "shared", config.vocab_size, config.d_model),
        encoder_(this, "encoder", config, T5Role::encoder),
        decoder_(this, "decoder", config, T5Role::decoder),
        lm_head_(this, "lm_head", config.d_model, config.vocab_size, nn::Bias::none) {
    const bool is_head_last = runtime().transformers >= kTiesHeadLast;
    if (!is_head_last) {
      lm_head_.tie_weight(shared_.weight);
    }
    if (context.place != eager::Place::meta || runtime().transformers >= kTiesOnMeta) {
      encoder_.share_embedding(shared_.weight);
      decoder_.share_embedding(shared_.weight);
    }
    if (is_head_last) {
      lm_head_.tie_weight(shared_.weight);
    }
  }

  Outputs forward(Inputs inputs) override {
    Outputs out;
    out.cache = nn::make_cache(context());
    out.cross_cache = nn::make_cache(context());
    out.encoder_states = encoder_(inputs.input_ids, {}, inputs.attention_mask, {});
    const Tensor& targets = inputs.labels.defined() ? inputs.labels : inputs.input_ids;
    Tensor decoder_ids = inputs.decoder_ids.defined() ? inputs.decoder_ids : shifted_right(targets);
    Tensor decoded = decoder_(decoder_ids, out.encoder_states, inputs.attention_mask,
                              {.own = out.cache, .cross = out.cross_cache});
    Tensor sequence = scales_output_ ? eager::mul(decoded, 1.0) : decoded;
    out.logits = lm_head_(sequence);
    if (inputs.labels.defined()) {
      runtime().mark_phase("loss");
      out.loss = eager::cross_entropy(eager::view(out.logits, {-1, vocab_size_}),
                                      labels_of(inputs, out.logits));
    }
    eager::end_of_frame(decoder_ids, decoded, sequence);
    return out;
  }

 private:
  // labels.to(lm_logits.device).view(-1)
  static Tensor labels_of(const Inputs& inputs, const Tensor& logits) {
    return eager::view(eager::to_device(inputs.labels, logits->storage->device), {-1});
  }

  // _shift_right: zeros, a copy of all labels but the last, the start token, no -100.
  Tensor shifted_right(const Tensor& labels) const {
    Tensor result = eager::empty(runtime(), labels.sizes(), DType::int64);
    eager::clone_contiguous(eager::slice(labels, -1, 0, -1));
    eager::compare("eq", {result});
    return result;
  }

  std::int64_t vocab_size_;
  bool scales_output_;
  nn::Embedding shared_;
  T5Stack encoder_;
  T5Stack decoder_;
  nn::Linear lm_head_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const T5Config& config) {
  return std::make_unique<T5Model>(context, config);
}

}  // namespace highwater::models
