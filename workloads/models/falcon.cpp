// Falcon (transformers 5.23 and 5.24, models/falcon/modeling_falcon.py) with rotary positions.
#include "workloads/plan/model/families/falcon.hpp"

#include <string>
#include <utility>

#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/models/rotary.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

namespace {

using eager::TensorList;

/// FalconLinear: the bias is added by itself.
class FalconLinear : public nn::Linear {
 public:
  FalconLinear(Module* parent, const char* name, std::int64_t in, std::int64_t out,
               const FalconConfig& config)
      : Linear(parent, name, in, out, nn::bias_if(config.bias)) {}

 private:
  [[nodiscard]] Tensor product(const Tensor& x) const override {
    if (quantized() != nullptr) {
      return Linear::product(x);
    }
    const Tensor states = eager::matmul(x, eager::t(weight));
    return bias.defined() ? eager::add(states, bias) : states;
  }
};

/// What a block is given beside the hidden states.
struct FalconInputs {
  CosSin positions;
  Tensor mask;
  nn::CachePtr cache;
};

struct FalconHeads {
  Tensor query;
  Tensor key;
  Tensor value;
};

class FalconAttention : public Module {
 public:
  FalconAttention(Module* parent, const FalconConfig& config)
      : Module(parent, "self_attention"),
        config_(config),
        head_dim_(config.hidden_size / config.num_attention_heads),
        query_key_value_(this, "query_key_value", config.hidden_size,
                         (config.num_attention_heads + 2 * projected_kv_heads(config)) * head_dim_,
                         config),
        dense_(this, "dense", config.hidden_size, config.hidden_size, config) {}

  TensorList operator()(Tensor hidden_states, const FalconInputs& inputs) const {
    const nn::InModule scope(*this);
    Tensor fused = query_key_value_(hidden_states);
    FalconHeads states = split(fused);
    states.query = heads_first(states.query);
    states.key = heads_first(states.key);
    states.value = heads_first(states.value);
    rotate(states, inputs.positions);
    if (inputs.cache) {
      inputs.cache->update(states.key, states.value);
    }
    Tensor scores;
    Tensor output = attend(states, inputs.mask, scores);
    output = eager::reshape(eager::permute(output, {0, 2, 1, 3}), hidden_states.sizes());
    output = dense_(output);
    eager::end_of_frame(hidden_states, fused, states.query, states.key, states.value);
    return {std::move(output), std::move(scores)};
  }

 private:
  [[nodiscard]] FalconHeads split(const Tensor& fused) const {
    const std::int64_t batch = fused.size(0);
    const std::int64_t length = fused.size(1);
    if (config_.new_decoder_architecture) {
      return split_groups(eager::view(
          fused, {batch, length, -1, config_.num_attention_heads / projected_kv_heads(config_) + 2,
                  head_dim_}));
    }
    if (!config_.multi_query) {
      const Tensor parts =
          eager::view(fused, {batch, length, config_.num_attention_heads, 3, head_dim_});
      return {eager::select(parts, 3, 0), eager::select(parts, 3, 1), eager::select(parts, 3, 2)};
    }
    const Tensor heads = eager::view(fused, {batch, length, -1, head_dim_});
    return {eager::slice(heads, 2, 0, -2), picked(heads), picked(heads)};
  }

  // [..., [-1], :]: the list becomes a tensor on the GPU.
  [[nodiscard]] Tensor picked(const Tensor& heads) const {
    const Tensor number = eager::empty(runtime(), {1}, DType::int64);
    return eager::index_at(heads, -2, number);
  }

  // broadcast_to(keys, queries.shape).flatten(2, 3)
  [[nodiscard]] FalconHeads split_groups(const Tensor& groups) const {
    FalconHeads states;
    states.query = eager::slice(groups, 3, 0, -2);
    states.key = picked(groups);
    states.value = picked(groups);
    states.key = eager::expand(states.key, states.query.sizes());
    states.value = eager::expand(states.value, states.query.sizes());
    const auto flat = [](const Tensor& part) { return eager::flatten(part, 2, 3); };
    FalconHeads result{flat(states.query), flat(states.key), flat(states.value)};
    eager::end_of_frame(states.query, states.key, states.value);
    return result;
  }

  static Tensor heads_first(const Tensor& states) {
    const Tensor swapped = eager::transpose(states, 1, 2);
    return eager::reshape(swapped, swapped.sizes());
  }

  static void rotate(FalconHeads& states, const CosSin& positions) {
    const Tensor cos = eager::unsqueeze(positions.cos, 1);
    const Tensor sin = eager::unsqueeze(positions.sin, 1);
    Tensor query = apply_rotary(states.query, cos, sin);
    Tensor key = apply_rotary(states.key, cos, sin);
    states.query = std::move(query);
    states.key = std::move(key);
  }

  [[nodiscard]] Tensor attend(const FalconHeads& states, const Tensor& mask, Tensor& scores) const {
    if (!context().is_eager()) {
      return eager::scaled_dot_product_attention(states.query, states.key, states.value, mask, {});
    }
    scores = eager::matmul(states.query, eager::transpose(states.key, -1, -2));
    scores = eager::div_(scores, 1.0);
    {
      Tensor sum = eager::add(scores, mask);
      Tensor weights = eager::softmax(sum, -1, states.query.dtype());
      sum.reset();
      scores = std::move(weights);
    }
    return eager::matmul(scores, states.value);
  }

  FalconConfig config_;
  std::int64_t head_dim_;
  FalconLinear query_key_value_;
  FalconLinear dense_;
};

class FalconMlp : public Module {
 public:
  FalconMlp(Module* parent, const FalconConfig& config)
      : Module(parent, "mlp"),
        widen_(this, "dense_h_to_4h", config.hidden_size, ffn_of(config), config),
        act_(this, "act", config.activation),
        narrow_(this, "dense_4h_to_h", ffn_of(config), config.hidden_size, config) {}

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    {
      const Tensor wide = widen_(x);
      x = act_(wide);
    }
    x = narrow_(x);
    return x;
  }

 private:
  FalconLinear widen_;
  nn::ActivationFunction act_;
  FalconLinear narrow_;
};

class FalconBlock : public Module {
 public:
  FalconBlock(Module* parent, std::size_t index, const FalconConfig& config)
      : Module(parent, std::to_string(index)),
        config_(config),
        attention_(this, config),
        mlp_(this, config) {
    if (has_two_norms(config)) {
      before_attention_ = norm("ln_attn");
      before_mlp_ = norm("ln_mlp");
      return;
    }
    if (!config.parallel_attn) {
      before_mlp_ = norm("post_attention_layernorm");
    }
    before_attention_ = norm("input_layernorm");
  }

  /// (hidden states, attention weights)
  TensorList operator()(Tensor hidden_states, const FalconInputs& inputs) const {
    const nn::InModule scope(*this);
    Tensor residual = hidden_states;
    Tensor normed = (*before_attention_)(hidden_states);
    Tensor mlp_input = has_two_norms(config_) ? (*before_mlp_)(hidden_states) : Tensor{};
    TensorList attended = attention_(normed, inputs);
    if (!config_.parallel_attn) {
      residual = added(attended[0], residual, config_.attention_dropout);
      mlp_input = (*before_mlp_)(residual);
    } else if (!mlp_input.defined()) {
      mlp_input = normed;
    }
    Tensor fed = mlp_(mlp_input);
    if (config_.parallel_attn) {
      fed = eager::add_(fed, attended[0]);
    }
    Tensor output = added(fed, residual, config_.hidden_dropout);
    eager::end_of_frame(hidden_states, residual, normed, mlp_input, attended[0], fed);
    return {std::move(output), std::move(attended[1])};
  }

 private:
  std::unique_ptr<nn::LayerNorm> norm(const char* name) {
    return std::make_unique<nn::LayerNorm>(this, name, config_.hidden_size);
  }

  // dropout_add
  [[nodiscard]] Tensor added(const Tensor& x, const Tensor& residual, double p) const {
    const Tensor out = nn::functional_dropout(context(), x, p);
    return eager::add(residual, out);
  }

  FalconConfig config_;
  FalconAttention attention_;
  FalconMlp mlp_;
  std::unique_ptr<nn::LayerNorm> before_attention_;
  std::unique_ptr<nn::LayerNorm> before_mlp_;  ///< null: that of the attention
};

class FalconModel : public Module {
 public:
  FalconModel(Module* parent, const FalconConfig& config)
      : Module(parent, "transformer"),
        embeddings_(this, "word_embeddings", config.vocab_size, config.hidden_size),
        h_(this, "h"),
        blocks_(h_, static_cast<std::size_t>(config.num_hidden_layers), config),
        ln_f_(this, "ln_f", config.hidden_size),
        rotary_emb_(this, config.hidden_size / config.num_attention_heads,
                    config.rope_parameters.rope_type) {
    rotary_emb_.initialize_again();
  }

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor inputs_embeds = embeddings_(inputs.input_ids);
    Tensor position_ids = position_ids_of(inputs, runtime(), inputs_embeds.size(1));
    FalconInputs about{.cache = cache};
    // Since 5.24 the mask asks whether positions begin anew.
    const Tensor asked_about = runtime().transformers < Release{5, 24} ? Tensor{} : position_ids;
    about.mask = nn::create_causal_mask(context(), {.inputs_embeds = inputs_embeds,
                                                    .attention_mask = inputs.attention_mask,
                                                    .position_ids = asked_about,
                                                    .has_cache = cache != nullptr,
                                                    .always = true});
    Tensor states = inputs_embeds;
    about.positions = rotary_emb_(states, position_ids);
    TensorList outputs;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      outputs = run(i, states, about, position_ids);
      states = outputs[0];
    }
    states = ln_f_(states);
    eager::end_of_frame(position_ids, inputs_embeds, about.mask);
    eager::end_of_frame(about.positions.sin, about.positions.cos);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return embeddings_.weight; }

 private:
  TensorList run(std::size_t index, const Tensor& states, const FalconInputs& about,
                 const Tensor& position_ids) const {
    const auto& block = blocks_[index];
    return run_tuple_block(block, index,
                           [&block, about, position_ids](const std::vector<Tensor>& in) {
                             return block(in[0], about);
                           },
                           {states});
  }

  nn::Embedding embeddings_;
  nn::Container h_;
  nn::BlockList<FalconBlock> blocks_;
  nn::LayerNorm ln_f_;
  RotaryEmbedding rotary_emb_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const FalconConfig& config) {
  return std::make_unique<CausalLm<FalconModel>>(context,
                                                 HeadConfig{.width = config.hidden_size,
                                                            .vocab_size = config.vocab_size,
                                                            .is_tied = config.tie_word_embeddings},
                                                 config);
}

}  // namespace highwater::models
