// A backbone with a language-model head: transformers' ...ForCausalLM, alike in every family; or
// with a head that sorts sequences into classes.
#pragma once

#include "workloads/models/causal_loss.hpp"
#include "workloads/models/classification.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/decoder/head_code.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::models {

struct HeadConfig {
  std::int64_t width = 0;
  std::int64_t vocab_size = 0;
  bool is_tied =
      false;  ///< the head is built first, then its weight is dropped for the embedding's
  nn::Bias bias = nn::Bias::none;
  const char* name = "lm_head";
  LogitsCode logits = LogitsCode::plain;
  HeadInput input = HeadInput::states;
};

/// A head whose logits the model changes at once, each step bound to the same name.
class LogitsHead : public nn::Linear {
 public:
  LogitsHead(Module* parent, const HeadConfig& head)
      : Linear(parent, head.name, head.width, head.vocab_size, head.bias), code_(head.logits) {}

  Tensor operator()(Tensor x) const override {
    Tensor logits = Linear::operator()(std::move(x));
    if (code_ == LogitsCode::wide_soft_capped) {
      Tensor wide = eager::to_dtype(logits, DType::fp32);
      Tensor divided = eager::div(wide, 1.0);
      wide.reset();
      logits = std::move(divided);
      logits = eager::tanh(logits);
    }
    if (code_ == LogitsCode::soft_capped) {
      logits = eager::div(logits, 1.0);
      logits = eager::tanh(logits);
    }
    return code_ == LogitsCode::plain ? logits : eager::mul(logits, 1.0);
  }

 private:
  LogitsCode code_;
};

/// `Backbone` takes (Inputs, cache) to hidden states and knows its embedding_weight().
template <class Backbone>
class CausalLm : public LanguageModel {
 public:
  template <class... Arguments>
  CausalLm(nn::ModelContext& context, const HeadConfig& head, const Arguments&... arguments)
      : LanguageModel(context),
        is_part_(context.part.has_value()),
        input_(head.input),
        backbone_(this, arguments...) {
    const nn::ModelPart part = context.part.value_or(nn::ModelPart{});
    if (const int labels = label_count(context.plan); labels > 0) {
      score_ = std::make_unique<nn::Linear>(this, "score", head.width, labels, nn::Bias::none);
      return;
    }
    if (part.has_head) {
      lm_head_ = std::make_unique<LogitsHead>(this, head);
    }
    if (head.is_tied && part.has_head && part.has_embedding) {
      lm_head_->tie_weight(backbone_.embedding_weight());
    }
  }

  Outputs forward(Inputs inputs) override {
    if (is_part_) {
      return forward_part(inputs);
    }
    const auto cache = nn::make_cache(context());
    Tensor states = backbone_(inputs, cache);
    Outputs out;
    out.cache = cache;
    if (score_) {
      classify(out, std::move(states), *score_, inputs);
      return out;
    }
    if (context().plan.loss.kind == LossKind::trl) {
      this->reads(lm_head_->weight);  // trl 1.16, trainer/utils.py add_fused_lm_head
    }
    if (input_ == HeadInput::divided_states) {
      Tensor last_hidden_state = states;
      states = eager::div(states, 1.0);
      head_and_loss(out, states, *lm_head_, inputs.labels);
      eager::end_of_frame(last_hidden_state, states);
      return out;
    }
    head_and_loss(out, std::move(states), *lm_head_, inputs.labels);
    return out;
  }

 protected:
  nn::Linear& head() { return *lm_head_; }

 private:
  // A pipeline stage: hidden states, or tokens, go in, and hidden states, or logits, come out.
  Outputs forward_part(const Inputs& inputs) const {
    Outputs out;
    Tensor states = backbone_(inputs, nullptr);
    if (lm_head_) {
      head_only(out, std::move(states), *lm_head_);
    } else {
      out.hidden_states = std::move(states);
    }
    return out;
  }

  bool is_part_;
  HeadInput input_;
  Backbone backbone_;
  std::unique_ptr<nn::Linear> lm_head_;  ///< null in a pipeline stage before the last
  std::unique_ptr<nn::Linear> score_;    ///< instead of it: ...ForSequenceClassification
};

}  // namespace highwater::models
