// Activations are [s, b, h], the sequence first. Sources, all of Megatron-Core 0.16.1:
// core/models/gpt/gpt_model.py, core/models/common/embeddings/rotary_pos_embedding.py and
// pretrain_gpt.py, with the local layer spec and its fused kernels.
//
// Norms and learned positions are made on the host in fp32, split layers on the device in the
// parameters' type; GPTModel then moves to the device and is converted, as get_model() does.
#include "workloads/megatron/gpt_model.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "workloads/megatron/attention/rotary.hpp"
#include "workloads/megatron/language_model_embedding.hpp"
#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/layers/layers.hpp"
#include "workloads/megatron/transformer_block.hpp"
#include "workloads/megatron/transformer_engine/cross_entropy.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {
namespace {

using models::Inputs;
using models::Outputs;
using nn::ModelContext;
using nn::Module;

/// Of the group of ranks among which this one's experts are spread.
MoeLoad load_of_rank(const TrainingPlan& plan, const Config& config) {
  return load_of_group(plan.moe_load, config.experts, expert_data_group(plan.parallel).rank);
}

Release engine_release(const TrainingPlan& plan) {
  return release_of(plan.versions.transformer_engine);
}

class Gpt : public models::LanguageModel {
 public:
  Gpt(ModelContext& context, Config config, const Stage& stage)
      : LanguageModel(context),
        config_(std::move(config)),
        tp_(context.runtime, context.plan.parallel),
        cp_(context.runtime, context.plan.parallel, engine_release(context.plan)),
        experts_(context.runtime, context.plan.parallel, load_of_rank(context.plan, config_)),
        shared_{config_, tp_, cp_, experts_, expert_tp(context.plan.parallel)} {
    make_modules(stage);
  }

  Gpt(Module& parent, std::string name, Config config, const Stage& stage)
      : LanguageModel(&parent, std::move(name)),
        config_(std::move(config)),
        tp_(runtime(), context().plan.parallel),
        cp_(runtime(), context().plan.parallel, engine_release(context().plan)),
        experts_(runtime(), context().plan.parallel, load_of_rank(context().plan, config_)),
        shared_{config_, tp_, cp_, experts_, expert_tp(context().plan.parallel)} {
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

  void make_frequencies() {
    if (config_.positions > 0 || config_.latent) {  // latent attention has tables of its own
      return;
    }
    frequencies_ = inverse_frequencies(runtime(), config_.head_dim);
  }

  void make_head(std::int64_t rows) {
    if (config_.tied && embedding_) {
      head_.emplace(this, "output_layer", tp_,
                    ColumnParallelLinear::SharedWeight{embedding_->word_weight()});
    } else {
      head_.emplace(this, "output_layer", tp_, config_.hidden, rows, SplitBias::none);
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

  // get_emb: lives in a cache of the module's forward, created once per sequence length. Each rank
  // keeps its part of the sequence.
  Tensor rotary_embedding(std::int64_t length) {
    if (config_.positions > 0 || config_.latent) {
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
    Tensor loss =
        context().plan.parallel.megatron.te_cross_entropy
            ? engine_cross_entropy(tp_.group(), logits, labels, engine_release(context().plan))
            : vocab_parallel_cross_entropy(tp_, logits, labels);
    loss = eager::contiguous(eager::transpose(loss, 0, 1));
    return loss;
  }

  static Tensor masked_sum(const Tensor& losses, const Tensor& loss_mask) {
    const Tensor masked = eager::mul(eager::view(losses, {-1}), eager::view(loss_mask, {-1}));
    return eager::sum(masked, {}, eager::KeepDim::no);
  }

  Config config_;
  TensorParallel tp_;
  ContextParallelGroup cp_;
  ExpertParallel experts_;
  LayerContext shared_;
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
  return parameter.layer == nn::LayerKind::norm ||
         parameter.name.find("layer_norm_") != std::string::npos ||
         parameter.name.ends_with("linear_proj.bias") ||
         parameter.name.ends_with("linear_fc2.bias") || parameter.name.ends_with("router.weight") ||
         parameter.name.ends_with("_down_proj.weight");
}

}  // namespace highwater::megatron
