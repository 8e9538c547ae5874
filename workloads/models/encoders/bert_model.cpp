#include "workloads/models/encoders/bert_model.hpp"

#include <string>

#include "workloads/models/attention.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

class BertEmbeddings : public Module {
 public:
  BertEmbeddings(Module* parent, const BertConfig& config)
      : Module(parent, "embeddings"),
        word_embeddings_(this, "word_embeddings", config.vocab_size, config.hidden_size),
        position_embeddings_(this, "position_embeddings", config.max_position_embeddings,
                             config.hidden_size),
        token_type_embeddings_(this, "token_type_embeddings", config.type_vocab_size,
                               config.hidden_size),
        layer_norm_(this, "LayerNorm", config.hidden_size),
        dropout_(this, "dropout", config.hidden_dropout_prob) {
    const Dims sizes{1, config.max_position_embeddings};
    for (const char* name : {"position_ids", "token_type_ids"}) {
      register_buffer(name, eager::empty_on(runtime(), context().place, sizes, DType::int64));
    }
  }

  Tensor operator()(const Tensor& input_ids) {
    const nn::InModule scope(*this);
    const std::int64_t length = input_ids.size(1);
    Tensor position_ids = eager::slice(own_buffers()[0].tensor, 1, 0, length);
    Tensor buffered = eager::gather(own_buffers()[1].tensor, 1, position_ids);
    Tensor token_type_ids = eager::expand(buffered, {input_ids.size(0), length});
    Tensor inputs_embeds = word_embeddings_(input_ids);
    Tensor token_types = token_type_embeddings_(token_type_ids);
    Tensor embeddings = eager::add(inputs_embeds, token_types);
    Tensor positions = position_embeddings_(position_ids);
    embeddings = eager::add(embeddings, positions);
    embeddings = layer_norm_(embeddings);
    embeddings = dropout_(embeddings);
    eager::end_of_frame(token_type_ids, position_ids, inputs_embeds, buffered, token_types,
                        positions);
    return embeddings;
  }

  [[nodiscard]] const Tensor& word_weight() const { return word_embeddings_.weight; }

 private:
  nn::Embedding word_embeddings_;
  nn::Embedding position_embeddings_;
  nn::Embedding token_type_embeddings_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
};

class BertSelfAttention : public Module {
 public:
  BertSelfAttention(Module* parent, const BertConfig& config)
      : Module(parent, "self"),
        heads_(config.num_attention_heads),
        query_(this, "query", config.hidden_size, config.hidden_size),
        key_(this, "key", config.hidden_size, config.hidden_size),
        value_(this, "value", config.hidden_size, config.hidden_size),
        dropout_(this, "dropout", config.attention_probs_dropout_prob) {}

  AttentionResult operator()(Tensor hidden_states, const Tensor& mask) const {
    const nn::InModule scope(*this);
    const Dims sizes = hidden_states.sizes();
    Tensor query = split(query_(hidden_states));
    Tensor key = split(key_(hidden_states));
    Tensor value = split(value_(hidden_states));
    const AttentionCall call{.query = query,
                             .key = key,
                             .value = value,
                             .mask = mask,
                             .dropout = context().training ? dropout_.probability() : 0.0};
    AttentionResult result =
        context().is_eager() ? attend_eagerly(call) : sdpa_attention(context(), call);
    result.output = eager::contiguous(eager::reshape(result.output, {sizes[0], sizes[1], -1}));
    eager::end_of_frame(hidden_states, query, key, value);
    return result;
  }

 private:
  [[nodiscard]] Tensor split(const Tensor& states) const {
    const std::int64_t width = states.size(2) / heads_;
    return eager::transpose(eager::view(states, {states.size(0), states.size(1), heads_, width}), 1,
                            2);
  }

  [[nodiscard]] AttentionResult attend_eagerly(const AttentionCall& call) const {
    Tensor weights = eager::matmul(call.query, eager::transpose(call.key, 2, 3));
    weights = eager::mul(weights, 1.0);
    if (call.mask.defined()) {
      weights = eager::add(weights, call.mask);
    }
    weights = eager::softmax(weights, -1, std::nullopt);
    weights = nn::plain_dropout(context(), weights, call.dropout);
    Tensor output = eager::matmul(weights, call.value);
    output = eager::contiguous(eager::transpose(output, 1, 2));
    return {output, weights};
  }

  std::int64_t heads_;
  nn::Linear query_;
  nn::Linear key_;
  nn::Linear value_;
  nn::Dropout dropout_;
};

/// BertSelfOutput and BertOutput.
class BertOutput : public Module {
 public:
  BertOutput(Module* parent, std::int64_t width, const BertConfig& config)
      : Module(parent, "output"),
        dense_(this, "dense", width, config.hidden_size),
        layer_norm_(this, "LayerNorm", config.hidden_size),
        dropout_(this, "dropout", config.hidden_dropout_prob) {}

  Tensor operator()(Tensor hidden_states, const Tensor& input) const {
    const nn::InModule scope(*this);
    hidden_states = dense_(hidden_states);
    hidden_states = dropout_(hidden_states);
    return layer_norm_(eager::add(hidden_states, input));
  }

 private:
  nn::Linear dense_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
};

class BertAttention : public Module {
 public:
  BertAttention(Module* parent, const BertConfig& config)
      : Module(parent, "attention"),
        self_(this, config),
        output_(this, config.hidden_size, config) {}

  AttentionResult operator()(const Tensor& hidden_states, const Tensor& mask) const {
    const nn::InModule scope(*this);
    AttentionResult result = self_(hidden_states, mask);
    Tensor output = output_(result.output, hidden_states);
    result.output = std::move(output);
    return result;
  }

 private:
  BertSelfAttention self_;
  BertOutput output_;
};

class BertIntermediate : public Module {
 public:
  BertIntermediate(Module* parent, const BertConfig& config)
      : Module(parent, "intermediate"),
        dense_(this, "dense", config.hidden_size, config.intermediate_size),
        activation_(this, "intermediate_act_fn", config.hidden_act) {}

  Tensor operator()(const Tensor& hidden_states) const {
    const nn::InModule scope(*this);
    Tensor wide = dense_(hidden_states);
    return activation_(wide);
  }

 private:
  nn::Linear dense_;
  nn::ActivationFunction activation_;
};

class BertLayer : public Module {
 public:
  BertLayer(Module* parent, std::size_t index, const BertConfig& config)
      : Module(parent, std::to_string(index)),
        attention_(this, config),
        intermediate_(this, config),
        output_(this, config.intermediate_size, config) {}

  Tensor operator()(const Tensor& hidden_states, const Tensor& mask) const {
    const nn::InModule scope(*this);
    const AttentionResult attention = attention_(hidden_states, mask);
    const Tensor wide = intermediate_(attention.output);
    return output_(wide, attention.output);
  }

 private:
  BertAttention attention_;
  BertIntermediate intermediate_;
  BertOutput output_;
};

class BertEncoder : public Module {
 public:
  BertEncoder(Module* parent, const BertConfig& config)
      : Module(parent, "encoder"),
        layer_(this, "layer"),
        blocks_(layer_, static_cast<std::size_t>(config.num_hidden_layers), config) {}

  Tensor operator()(Tensor states, const Tensor& mask) const {
    const nn::InModule scope(*this);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const BertLayer& block = blocks_[i];
      states = run_block(block, i,
                         [&block](const std::vector<Tensor>& in) { return block(in[0], in[1]); },
                         {states, mask});
    }
    return states;
  }

 private:
  nn::Container layer_;
  nn::BlockList<BertLayer> blocks_;
};

class BertPooler : public Module {
 public:
  BertPooler(Module* parent, const BertConfig& config)
      : Module(parent, "pooler"), dense_(this, "dense", config.hidden_size, config.hidden_size) {}

  Tensor operator()(const Tensor& hidden_states) const {
    const nn::InModule scope(*this);
    const Tensor pooled = dense_(eager::select(hidden_states, 1, 0));
    return eager::tanh(pooled);
  }

 private:
  nn::Linear dense_;
};

BertModel::BertModel(Module* parent, const BertConfig& config, Pooler pooler)
    : Module(parent, "bert"),
      embeddings_(std::make_unique<BertEmbeddings>(this, config)),
      encoder_(std::make_unique<BertEncoder>(this, config)),
      pooler_(pooler == Pooler::present ? std::make_unique<BertPooler>(this, config) : nullptr) {}

BertModel::~BertModel() = default;

BertOutputs BertModel::operator()(const Inputs& inputs) {
  const nn::InModule scope(*this);
  const Tensor embedded = (*embeddings_)(inputs.input_ids);
  if (inputs.attention_mask.defined()) {
    nn::look_for_padding(inputs.attention_mask);
  }
  BertOutputs outputs{.last_hidden_state = (*encoder_)(embedded, {}), .pooler_output = {}};
  if (pooler_) {
    outputs.pooler_output = (*pooler_)(outputs.last_hidden_state);
  }
  return outputs;
}

const Tensor& BertModel::word_weight() const {
  return embeddings_->word_weight();
}

}  // namespace highwater::models
