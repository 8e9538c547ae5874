// BERT (transformers 5.12, models/bert/modeling_bert.py: BertForMaskedLM).
#include "workloads/plan/model/families/bert.hpp"

#include <utility>

#include "traces/error.hpp"
#include "workloads/models/classification.hpp"
#include "workloads/models/encoders/bert_model.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::models {

namespace {

class BertPredictionHeadTransform : public Module {
 public:
  BertPredictionHeadTransform(Module* parent, const BertConfig& config)
      : Module(parent, "transform"),
        dense_(this, "dense", config.hidden_size, config.hidden_size),
        activation_(this, "transform_act_fn", config.hidden_act),
        layer_norm_(this, "LayerNorm", config.hidden_size) {}

  Tensor operator()(Tensor states) const {
    const nn::InModule scope(*this);
    states = dense_(states);
    states = activation_(states);
    return layer_norm_(states);
  }

 private:
  nn::Linear dense_;
  nn::ActivationFunction activation_;
  nn::LayerNorm layer_norm_;
};

/// BertLMPredictionHead; its own bias is the decoder's.
class BertPredictions : public Module {
 public:
  BertPredictions(Module* parent, const BertConfig& config)
      : Module(parent, "predictions"),
        transform_(this, config),
        decoder_(this, "decoder", config.hidden_size, config.vocab_size),
        bias_(make_parameter("bias", {config.vocab_size})) {}

  Tensor operator()(Tensor states) const {
    const nn::InModule scope(*this);
    states = transform_(states);
    return decoder_(states);
  }

  void tie(const Tensor& word_weight) {
    decoder_.tie_weight(word_weight);
    decoder_.tie_parameter("bias", bias_);
    decoder_.bias = bias_;
  }

 private:
  BertPredictionHeadTransform transform_;
  nn::Linear decoder_;
  Tensor bias_;
};

void refuse(const char* where, const char* problem, const char* remedy) {
  throw InputError("plan", where, problem, remedy);
}

// What the decoders' head and masks have and an encoder's lack.
void check_plan(const TrainingPlan& plan) {
  if (plan.loss.kind != LossKind::hf && plan.loss.kind != LossKind::flat) {
    refuse("loss", "BERT predicts masked tokens, not the next ones", "use loss hf or flat");
  }
  if (plan.attention_mask == AttentionMask::padded) {
    refuse("attention-mask", "padded batches are not simulated for encoders", "use full");
  }
  if (plan.parallel.cp > 1) {
    refuse("cp", "context_parallel() balances causal attention, and BERT's is not causal",
           "use a decoder");
  }
}

class BertForMaskedLm : public LanguageModel {
 public:
  BertForMaskedLm(nn::ModelContext& context, const BertConfig& config)
      : LanguageModel(context),
        bert_(this, config, Pooler::none),
        cls_(this, "cls"),
        predictions_(&cls_, config) {
    if (config.tie_word_embeddings) {
      predictions_.tie(bert_.word_weight());
    }
  }

  Outputs forward(Inputs inputs) override {
    Outputs out;
    const Tensor sequence = bert_(inputs).last_hidden_state;
    out.logits = predictions_(sequence);
    if (inputs.labels.defined()) {
      runtime().mark_phase("loss");
      out.loss = eager::cross_entropy(eager::view(out.logits, {-1, out.logits.size(-1)}),
                                      eager::view(inputs.labels, {-1}));
    }
    return out;
  }

 private:
  BertModel bert_;
  nn::Container cls_;
  BertPredictions predictions_;
};

// One label a sequence; the dropout is the hidden layers' (classifier_dropout is None).
class BertForSequenceClassification : public LanguageModel {
 public:
  BertForSequenceClassification(nn::ModelContext& context, const BertConfig& config)
      : LanguageModel(context),
        bert_(this, config, Pooler::present),
        dropout_(this, "dropout", config.hidden_dropout_prob),
        classifier_(this, "classifier", config.hidden_size, context.plan.model.labels) {}

  Outputs forward(Inputs inputs) override {
    Outputs out;
    BertOutputs outputs = bert_(inputs);
    Tensor pooled_output = dropout_(outputs.pooler_output);
    out.logits = classifier_(pooled_output);
    if (inputs.labels.defined()) {
      runtime().mark_phase("loss");
      out.loss = classification_loss(out.logits, inputs.labels);
    }
    eager::end_of_frame(outputs.last_hidden_state, outputs.pooler_output, pooled_output);
    return out;
  }

 private:
  BertModel bert_;
  nn::Dropout dropout_;
  nn::Linear classifier_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const BertConfig& config) {
  check_plan(context.plan);
  if (context.plan.model.labels > 0) {
    return std::make_unique<BertForSequenceClassification>(context, config);
  }
  return std::make_unique<BertForMaskedLm>(context, config);
}

}  // namespace highwater::models
