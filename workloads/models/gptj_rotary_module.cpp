#include "workloads/models/gptj_rotary_module.hpp"

#include <string>
#include <utility>

namespace highwater::models {

namespace {

/// The variables of an attention's frame: queries and keys are [batch, seq, heads, head dim].
struct GptJHeads {
  Tensor fused;
  Tensor query;
  Tensor key;
  Tensor value;  ///< [batch, heads, seq, head dim]
};

/// What a block is given beside the hidden states.
struct RotaryInputs {
  SinCos positions;
  Tensor mask;
  nn::CachePtr cache;
};

// eager_attention_forward: scores in fp32, whatever the model's type.
AttentionResult attend_in_fp32(const nn::ModelContext& context, AttentionCall call) {
  Tensor weights;
  {
    Tensor queries = eager::to_dtype(call.query, DType::fp32);
    Tensor keys = eager::to_dtype(call.key, DType::fp32);
    weights = eager::matmul(queries, eager::transpose(keys, 2, 3));
    eager::end_of_frame(queries, keys);  // arguments are released from the left
  }
  weights = eager::mul(weights, 1.0);
  if (call.mask.defined()) {
    weights = eager::add(weights, call.mask);
  }
  {
    Tensor wide = eager::softmax(weights, -1, std::nullopt);
    Tensor narrow = eager::to_dtype(wide, call.value.dtype());
    wide.reset();
    weights = std::move(narrow);
  }
  weights = nn::plain_dropout(context, weights, call.dropout);
  Tensor output = eager::matmul(weights, call.value);
  output = eager::contiguous(eager::transpose(output, 1, 2));
  eager::end_of_frame(call.query, call.key, call.value, call.mask);
  return {std::move(output), std::move(weights)};
}

class RotaryAttention : public Module {
 public:
  RotaryAttention(Module* parent, const GptJShape& shape, GptJProjections projections)
      : Module(parent, "attn"), shape_(shape), projections_(projections) {
    if (projections == GptJProjections::separate) {
      k_proj_ = make_projection("k_proj", 1);
      v_proj_ = make_projection("v_proj", 1);
      q_proj_ = make_projection("q_proj", 1);
    }
    out_proj_ = make_projection("out_proj", 1);
    resid_dropout_ = std::make_unique<nn::Dropout>(this, "resid_dropout", shape.residual_dropout);
    if (projections == GptJProjections::four_cores) {
      qkv_proj_ = make_projection("qkv_proj", 3);
    }
  }

  AttentionResult operator()(Tensor hidden_states, const RotaryInputs& inputs) const {
    const nn::InModule scope(*this);
    GptJHeads states = project(hidden_states);
    PartlyRotated k_parts(states.key, shape_.rotary_dim);
    PartlyRotated q_parts(states.query, shape_.rotary_dim);
    k_parts.rotated = apply_sinusoidal(k_parts.rotated, inputs.positions);
    q_parts.rotated = apply_sinusoidal(q_parts.rotated, inputs.positions);
    states.key = k_parts.joined();
    states.query = q_parts.joined();
    states.query = heads_first(states.query, states.value);
    states.key = heads_first(states.key, states.value);
    if (inputs.cache) {
      inputs.cache->update(states.key, states.value);
    }
    AttentionResult result = attend(states, inputs.mask);
    Tensor& output = result.output;
    output = eager::contiguous(eager::reshape(output, {output.size(0), output.size(1), -1}));
    output = (*out_proj_)(output);
    output = (*resid_dropout_)(output);
    eager::end_of_frame(hidden_states, states.fused, states.query);
    if (projections_ == GptJProjections::four_cores) {  // query, value, key = qkv.split(...)
      eager::end_of_frame(states.value, states.key);
    }
    eager::end_of_frame(states.key, states.value);
    eager::end_of_frame(k_parts.rotated, k_parts.rest, q_parts.rotated, q_parts.rest);
    return result;
  }

 private:
  std::unique_ptr<nn::Linear> make_projection(const char* name, std::int64_t parts) {
    return std::make_unique<nn::Linear>(this, name, shape_.width, parts * shape_.width,
                                        nn::Bias::none);
  }

  [[nodiscard]] GptJHeads project(const Tensor& hidden_states) const {
    if (projections_ == GptJProjections::four_cores) {
      return project_cores(hidden_states);
    }
    GptJHeads states;
    states.query = split_heads((*q_proj_)(hidden_states));
    states.key = split_heads((*k_proj_)(hidden_states));
    states.value = eager::transpose(split_heads((*v_proj_)(hidden_states)), 1, 2);
    return states;
  }

  // [batch, seq, cores, query, value and key of a core]
  [[nodiscard]] GptJHeads project_cores(const Tensor& hidden_states) const {
    GptJHeads states;
    const std::int64_t local = shape_.width / kCodegenCores;
    const Tensor projected = (*qkv_proj_)(hidden_states);
    states.fused = eager::view(projected, {projected.size(0), projected.size(1), -1, 3 * local});
    auto parts = eager::split(states.fused, local, -1);
    states.query = split_heads(parts[0]);
    states.key = split_heads(parts[2]);
    states.value = eager::transpose(split_heads(parts[1]), 1, 2);
    return states;
  }

  [[nodiscard]] Tensor split_heads(const Tensor& states) const {
    return eager::reshape(states,
                          {states.size(0), states.size(1), -1, shape_.width / shape_.heads});
  }

  // CodeGen's rotation is in fp32, and what follows in the model's type.
  [[nodiscard]] Tensor heads_first(const Tensor& states, const Tensor& value) const {
    const Tensor swapped = eager::transpose(states, 1, 2);
    return projections_ == GptJProjections::four_cores ? eager::to_dtype(swapped, value.dtype())
                                                       : swapped;
  }

  [[nodiscard]] AttentionResult attend(const GptJHeads& states, const Tensor& mask) const {
    AttentionCall call{
        .query = states.query,
        .key = states.key,
        .value = states.value,
        .mask = mask,
        .dropout = context().training ? context().dropout(shape_.attention_dropout) : 0.0};
    if (!context().is_eager()) {
      return sdpa_attention(context(), std::move(call));
    }
    return core_attention(context(), std::move(call), [this](AttentionCall own) {
      return attend_in_fp32(context(), std::move(own));
    });
  }

  GptJShape shape_;
  GptJProjections projections_;
  std::unique_ptr<nn::Linear> k_proj_;
  std::unique_ptr<nn::Linear> v_proj_;
  std::unique_ptr<nn::Linear> q_proj_;
  std::unique_ptr<nn::Linear> out_proj_;
  std::unique_ptr<nn::Dropout> resid_dropout_;
  std::unique_ptr<nn::Linear> qkv_proj_;
};

class RotaryBlock : public Module {
 public:
  RotaryBlock(Module* parent, std::size_t index, const GptJShape& shape,
              GptJProjections projections)
      : Module(parent, std::to_string(index)),
        ln_1_(this, "ln_1", shape.width),
        attn_(this, shape, projections),
        mlp_(this, shape.mlp) {}

  Tensor operator()(Tensor hidden_states, const RotaryInputs& inputs) const {
    const nn::InModule scope(*this);
    Tensor residual = hidden_states;
    hidden_states = ln_1_(hidden_states);
    AttentionResult attention = attn_(hidden_states, inputs);
    Tensor feed_forward = mlp_(hidden_states);
    Tensor both = eager::add(attention.output, feed_forward);
    Tensor result = eager::add(both, residual);
    both.reset();
    eager::end_of_frame(hidden_states, residual, attention.output, attention.weights, feed_forward);
    return result;
  }

 private:
  nn::LayerNorm ln_1_;
  RotaryAttention attn_;
  Mlp<nn::Linear> mlp_;
};

class RotaryGptJModel : public Module {
 public:
  RotaryGptJModel(Module* parent, const GptJShape& shape, GptJProjections projections)
      : Module(parent, "transformer"),
        wte_(this, "wte", shape.vocab_size, shape.width),
        drop_(this, "drop", shape.embedding_dropout),
        h_(this, "h"),
        blocks_(h_, static_cast<std::size_t>(shape.layers), shape, projections),
        ln_f_(this, "ln_f", shape.width),
        rotary_emb_(this, shape.positions, shape.rotary_dim,
                    projections == GptJProjections::four_cores ? SinusoidalType::fp32
                                                               : SinusoidalType::of_states) {
    rotary_emb_.initialize_again();
  }

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor inputs_embeds = wte_(inputs.input_ids);
    Tensor position_ids = eager::unsqueeze(numbered_positions(runtime(), inputs_embeds.size(1)), 0);
    Tensor mask = nn::create_causal_mask(context(), {.inputs_embeds = inputs_embeds,
                                                     .attention_mask = inputs.attention_mask,
                                                     .position_ids = position_ids,
                                                     .has_cache = cache != nullptr});
    Tensor states = drop_(inputs_embeds);
    SinCos tables = rotary_emb_(states, position_ids);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = blocks_[i];
      states = run_block(block, i,
                         [&block, cache](const std::vector<Tensor>& in, const Keywords& named) {
                           return block(in[0], {{named[2][0], named[2][1]}, named[0][0], cache});
                         },
                         {states}, {{mask}, {position_ids}, {tables.sin, tables.cos}});
    }
    states = ln_f_(states);
    eager::end_of_frame(position_ids, inputs_embeds, mask, tables.cos, tables.sin);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return wte_.weight; }

 private:
  nn::Embedding wte_;
  nn::Dropout drop_;
  nn::Container h_;
  nn::BlockList<RotaryBlock> blocks_;
  nn::LayerNorm ln_f_;
  SinusoidalTables rotary_emb_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_gptj_with_rotary_module(nn::ModelContext& context,
                                                            const GptJShape& shape,
                                                            GptJProjections projections) {
  return std::make_unique<GptJForCausalLm<RotaryGptJModel>>(
      context, gptj_head(shape.width, shape.vocab_size, shape.is_tied), shape, projections);
}

}  // namespace highwater::models
