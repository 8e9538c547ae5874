// The blocks of LLaMA and its relatives: where norms are, and how the parts are added up.
#include <utility>

#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/decoders/family_dropout.hpp"
#include "workloads/models/decoders/layer_inputs.hpp"
#include "workloads/models/norm.hpp"

namespace highwater::models {

namespace {

std::unique_ptr<Norm> make_block_norm(Module* parent, const char* name, const LlamaConfig& config) {
  return name == nullptr
             ? nullptr
             : std::make_unique<Norm>(parent, name, config.hidden_size, config.code->norm);
}

/// `states` behind a norm that may be absent.
Tensor behind(const std::unique_ptr<Norm>& norm, const Tensor& states) {
  return norm ? (*norm)(states) : states;
}

class LlamaDecoderLayer : public DecoderLayer {
 public:
  LlamaDecoderLayer(Module* parent, std::int64_t index, const LlamaConfig& config,
                    const BlockParts& parts)
      : DecoderLayer(parent, std::to_string(index)),
        config_(config),
        dropout_(block_dropout(config)) {
    make_norms_if(NormsMade::first);
    self_attn_ = parts.make_attention(this);
    make_norms_if(NormsMade::in_between);
    mlp_ = parts.make_mlp(this);
    make_norms_if(NormsMade::last);
    make_layer_parts();
  }

  Tensor operator()(Tensor hidden_states, const BlockInputs& inputs) const override {
    const nn::InModule scope(*this);
    switch (config_.code->residual) {
      case Residual::sequential:
        break;
      case Residual::parallel:
        return parallel(std::move(hidden_states), inputs);
      case Residual::parallel_last:
        return parallel_last(std::move(hidden_states), inputs);
      case Residual::two_norms:
        return config_.use_parallel_residual ? two_norms(std::move(hidden_states), inputs)
                                             : two_norms_in_turn(std::move(hidden_states), inputs);
      case Residual::kept_attention:
        return config_.use_parallel_residual ? parallel(std::move(hidden_states), inputs)
                                             : kept_attention(std::move(hidden_states), inputs);
      case Residual::named_dropout:
        return named_dropout(std::move(hidden_states), inputs);
    }
    return sequential(std::move(hidden_states), inputs);
  }

 private:
  void make_norms_if(NormsMade moment) {
    if (config_.code->norms_made != moment) {
      return;
    }
    const BlockNorms norms = norms_of(config_);
    before_attention_ = make_block_norm(this, norms.before_attention, config_);
    after_attention_ = make_block_norm(this, norms.after_attention, config_);
    before_mlp_ = make_block_norm(this, norms.before_mlp, config_);
    after_mlp_ = make_block_norm(this, norms.after_mlp, config_);
  }

  void make_layer_parts() {
    if (config_.code->has_layer_scalar) {
      const nn::InModule scope(*this);
      scalar_ = eager::empty_on(runtime(), context().place, {1}, context().dtype);
      register_buffer("layer_scalar", scalar_);
    }
    if (config_.layer_input_width > 0) {
      layer_input_ = std::make_unique<LayerInputPart>(this, config_);
    }
  }

  [[nodiscard]] Tensor sequential(Tensor hidden_states, const BlockInputs& inputs) const {
    Tensor residual = hidden_states;
    hidden_states = behind(before_attention_, hidden_states);
    auto [attended, weights] = (*self_attn_)(hidden_states, inputs);
    hidden_states = std::move(attended);
    hidden_states = behind(after_attention_, hidden_states);
    hidden_states = added(residual, hidden_states);
    residual = hidden_states;
    hidden_states = behind(before_mlp_, hidden_states);
    hidden_states = (*mlp_)(hidden_states);
    Tensor fed = config_.code->names_fed_states ? hidden_states : Tensor{};
    hidden_states = behind(after_mlp_, hidden_states);
    hidden_states = added(residual, hidden_states);
    if (layer_input_) {
      residual = hidden_states;
      hidden_states = (*layer_input_)(hidden_states, inputs.layer_input);
    }
    if (scalar_.defined()) {
      hidden_states = eager::mul_(hidden_states, scalar_);
    }
    eager::end_of_frame(residual, weights, fed);
    return hidden_states;
  }

  // residual + attention + mlp
  [[nodiscard]] Tensor parallel(Tensor hidden_states, const BlockInputs& inputs) const {
    Tensor residual = hidden_states;
    hidden_states = (*before_attention_)(hidden_states);
    auto [attended, weights] = (*self_attn_)(hidden_states, inputs);
    Tensor fed = (*mlp_)(hidden_states);
    fed = dropped(fed);
    hidden_states = sum(residual, attended, fed);
    eager::end_of_frame(residual, attended, weights, fed);
    return hidden_states;
  }

  // attention + mlp + residual
  [[nodiscard]] Tensor parallel_last(Tensor hidden_states, const BlockInputs& inputs) const {
    Tensor residual = hidden_states;
    hidden_states = (*before_attention_)(hidden_states);
    auto [attended, weights] = (*self_attn_)(hidden_states, inputs);
    attended = dropped(attended);
    Tensor fed = dropped((*mlp_)(hidden_states));
    hidden_states = sum(attended, fed, residual);
    eager::end_of_frame(residual, attended, weights, fed);
    return hidden_states;
  }

  // mlp + attention + hidden_states
  [[nodiscard]] Tensor two_norms(Tensor hidden_states, const BlockInputs& inputs) const {
    auto [attended, weights] = (*self_attn_)((*before_attention_)(hidden_states), inputs);
    attended = dropped(attended);
    Tensor fed = (*mlp_)((*before_mlp_)(hidden_states));
    fed = dropped(fed);
    hidden_states = sum(fed, attended, hidden_states);
    eager::end_of_frame(attended, weights, fed);
    return hidden_states;
  }

  [[nodiscard]] Tensor two_norms_in_turn(Tensor hidden_states, const BlockInputs& inputs) const {
    auto [attended, weights] = (*self_attn_)((*before_attention_)(hidden_states), inputs);
    attended = dropped(attended);
    attended = eager::add(attended, hidden_states);
    Tensor fed = (*mlp_)((*before_mlp_)(attended));
    fed = dropped(fed);
    hidden_states = eager::add(fed, attended);
    eager::end_of_frame(attended, weights, fed);
    return hidden_states;
  }

  [[nodiscard]] Tensor kept_attention(Tensor hidden_states, const BlockInputs& inputs) const {
    Tensor residual = hidden_states;
    hidden_states = (*before_attention_)(hidden_states);
    auto [attended, weights] = (*self_attn_)(hidden_states, inputs);
    residual = eager::add(residual, attended);
    Tensor fed = (*mlp_)((*before_mlp_)(residual));
    fed = dropped(fed);
    hidden_states = eager::add(residual, fed);
    eager::end_of_frame(residual, attended, weights, fed);
    return hidden_states;
  }

  // bias_dropout_add after both parts
  [[nodiscard]] Tensor named_dropout(Tensor hidden_states, const BlockInputs& inputs) const {
    Tensor residual = hidden_states;
    Tensor normed = (*before_attention_)(hidden_states);
    auto [attended, weights] = (*self_attn_)(normed, inputs);
    Tensor sum;
    {
      const Tensor bias = self_attn_->output_bias();
      const Tensor biased =
          bias.defined() ? eager::add(attended, eager::expand(bias, residual.sizes())) : attended;
      const Tensor part = dropped(biased);
      sum = eager::add(residual, part);
    }
    attended = std::move(sum);
    Tensor fed = (*mlp_)((*before_mlp_)(attended));
    {
      const Tensor part = dropped(fed);
      attended = eager::add(attended, part);
    }
    eager::end_of_frame(hidden_states, residual, normed, weights, fed);
    return attended;
  }

  // residual + dropout(states) * multiplier, as far as the family has them.
  [[nodiscard]] Tensor added(const Tensor& residual, const Tensor& states) const {
    Tensor part = dropped(states);
    if (config_.code->scales_both) {
      Tensor left = eager::mul(part, 1.0);
      Tensor right = eager::mul(residual, 1.0);
      Tensor result = eager::add(left, right);
      eager::end_of_frame(left, right);
      return result;
    }
    if (config_.code->multiplies_residual) {
      part = eager::mul(part, 1.0);
    }
    return eager::add(residual, part);
  }

  [[nodiscard]] Tensor dropped(const Tensor& states) const { return dropout_(context(), states); }

  static Tensor sum(const Tensor& first, const Tensor& second, const Tensor& third) {
    const Tensor two = eager::add(first, second);
    return eager::add(two, third);
  }

  LlamaConfig config_;
  FamilyDropout dropout_;
  std::unique_ptr<DecoderAttention> self_attn_;
  std::unique_ptr<FeedForward> mlp_;
  std::unique_ptr<LayerInputPart> layer_input_;
  Tensor scalar_;
  std::unique_ptr<Norm> before_attention_;
  std::unique_ptr<Norm> after_attention_;
  std::unique_ptr<Norm> before_mlp_;
  std::unique_ptr<Norm> after_mlp_;
};

}  // namespace

std::unique_ptr<DecoderLayer> make_decoder_layer(Module* parent, std::int64_t index,
                                                 const LlamaConfig& config,
                                                 const BlockParts& parts) {
  return std::make_unique<LlamaDecoderLayer>(parent, index, config, parts);
}

}  // namespace highwater::models
