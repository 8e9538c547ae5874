// Qwen2MoeSparseMoeBlock and its relatives (transformers 5.23): a gate, experts, perhaps a shared
// expert.
#include <utility>

#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/decoders/grouped_mixture.hpp"
#include "workloads/models/decoders/listed_mixture.hpp"
#include "workloads/models/experts/expert_gate.hpp"
#include "workloads/models/experts/experts.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/lora_targets.hpp"

namespace highwater::models {

namespace {

/// The parts of a mixture, made in the order in which the family's code makes them.
class SparseMixture : public FeedForward {
 public:
  SparseMixture(Module* parent, const LlamaConfig& config)
      : FeedForward(parent, config.code->mixture.name),
        averages_(config.averages_shared_experts),
        shares_first_(config.code->mixture.order == MixtureOrder::shared_early) {
    const bool experts_first = config.code->mixture.order == MixtureOrder::experts_first;
    if (!experts_first) {
      gate_ = std::make_unique<ExpertGate>(this, config);
    }
    if (shares_first_) {
      make_shared_experts(config);
    }
    experts_ = std::make_unique<MixtureOfExperts>(this, shape_of_experts(config));
    if (experts_first) {
      gate_ = std::make_unique<ExpertGate>(this, config);
    }
    if (!shares_first_) {
      make_shared_experts(config);
    }
    make_shared_expert(config);
    make_correction(config);
  }

  Tensor operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    return call(std::move(hidden_states), [this](const Tensor& in) { return mixture(in); });
  }

 private:
  static ExpertsShape shape_of_experts(const LlamaConfig& config) {
    return {.count = config.num_experts,
            .hidden = config.hidden_size,
            .width = expert_width(config),
            .activation = config.hidden_act};
  }

  void make_shared_experts(const LlamaConfig& config) {
    if (config.n_shared_experts > 0) {
      shared_experts_ = make_gated_mlp(this, "shared_experts", config,
                                       config.n_shared_experts * expert_width(config));
    }
  }

  void make_shared_expert(const LlamaConfig& config) {
    if (config.shared_expert_intermediate_size == 0) {
      return;
    }
    shared_expert_ =
        make_gated_mlp(this, "shared_expert", config, config.shared_expert_intermediate_size);
    shared_expert_gate_ = std::make_unique<nn::Linear>(this, "shared_expert_gate",
                                                       config.hidden_size, 1, nn::Bias::none);
  }

  void make_correction(const LlamaConfig& config) {
    if (config.code->mixture.gate == ExpertGateCode::sigmoid) {
      const nn::InModule scope(*this);
      correction_ =
          eager::empty_on(runtime(), context().place, {config.num_experts}, context().dtype);
      register_buffer("e_score_correction_bias", correction_);
    }
    if (config.code->mixture.gate == ExpertGateCode::scaled_sigmoid) {
      const nn::InModule scope(*this);
      const bool is_wide = runtime().transformers >= Release{5, 24};
      correction_ = make_parameter("expert_bias", {config.num_experts},
                                   is_wide ? DType::fp32 : context().dtype);
      correction_->requires_grad = false;
    }
  }

  [[nodiscard]] Tensor mixture(const Tensor& hidden_states) const {
    Tensor states = eager::view(hidden_states, {-1, hidden_states.size(-1)});
    Tensor shared;
    if (shared_expert_) {
      shared = (*shared_expert_)(states);
    }
    Choice choice = (*gate_)(gate_input(hidden_states, states), correction_);
    if (shared_experts_) {
      return with_shared_experts(hidden_states, std::move(states), std::move(choice));
    }
    Tensor result = (*experts_)(states, choice.indices, choice.weights);
    if (shared_expert_) {
      shared = gated(shared, states);
      result = eager::add(result, shared);
    }
    result = eager::reshape(result, hidden_states.sizes());
    eager::end_of_frame(states, shared, choice.logits, choice.weights, choice.indices);
    return result;
  }

  // AFMoE's gate makes a view of its own.
  [[nodiscard]] const Tensor& gate_input(const Tensor& hidden_states, const Tensor& flat) const {
    return shares_first_ ? hidden_states : flat;
  }

  // AfmoeSparseMoeBlock and Cohere2MoeSparseMoeBlock: every token passes the shared experts, before
  // or after the chosen ones.
  [[nodiscard]] Tensor with_shared_experts(const Tensor& hidden_states, Tensor states,
                                           Choice choice) const {
    Tensor shared = shares_first_ ? (*shared_experts_)(states) : Tensor{};
    Tensor routed = (*experts_)(states, choice.indices, choice.weights);
    Tensor result;
    if (shares_first_) {
      result = eager::add(shared, routed);
    } else {
      shared = (*shared_experts_)(states);
      Tensor sum = eager::add(routed, shared);
      result = averages_ ? eager::div(sum, 2.0) : sum;
      sum.reset();
      routed = result;
    }
    result = eager::reshape(result, hidden_states.sizes());
    eager::end_of_frame(states, choice.logits, choice.weights, choice.indices, shared, routed);
    return result;
  }

  // F.sigmoid(self.shared_expert_gate(x)) * shared_expert_output
  [[nodiscard]] Tensor gated(const Tensor& shared, const Tensor& states) const {
    Tensor open = (*shared_expert_gate_)(states);
    open = eager::sigmoid(open);
    return eager::mul(open, shared);
  }

  std::unique_ptr<ExpertGate> gate_;
  std::unique_ptr<MixtureOfExperts> experts_;
  bool averages_;
  bool shares_first_;
  std::unique_ptr<FeedForward> shared_experts_;
  std::unique_ptr<FeedForward> shared_expert_;  ///< one behind a gate: Qwen2-MoE
  std::unique_ptr<nn::Linear> shared_expert_gate_;
  Tensor correction_;
};

GroupedMixture grouped_mixture_of(const LlamaConfig& config) {
  return {.hidden = config.hidden_size,
          .experts = config.num_experts,
          .width = expert_width(config),
          .shared_experts = config.n_shared_experts,
          .experts_per_token = config.num_experts_per_tok,
          .groups = config.n_group,
          .chosen_groups = config.topk_group,
          .normalizes = config.norm_topk_prob,
          .activation = config.hidden_act,
          .correction = config.code->mixture.correction,
          .scales_late = config.code->mixture.gate == ExpertGateCode::grouped_late_scale};
}

FeedForwardMaker shared_expert_of(const LlamaConfig& config) {
  const std::int64_t width = config.shared_expert_intermediate_size;
  if (width == 0) {
    return {};
  }
  return [&config, width](Module* parent) {
    return make_gated_mlp(parent, "shared_expert", config, width);
  };
}

ListedMixture listed_mixture_of(const LlamaConfig& config) {
  return {.experts = config.num_experts,
          .top_k = config.num_experts_per_tok,
          .hidden = config.hidden_size,
          .width = expert_width(config),
          .normalizes = config.norm_topk_prob,
          .activation = config.hidden_act,
          .make_shared_expert = shared_expert_of(config)};
}

}  // namespace

std::unique_ptr<FeedForward> make_feed_forward(Module* parent, std::int64_t layer,
                                               const LlamaConfig& config) {
  if (!is_mixture(config, layer)) {
    return make_mlp(parent, config);
  }
  if (is_grouped(config.code->mixture.gate)) {
    return make_grouped_mixture(parent, grouped_mixture_of(config), config);
  }
  if (lists_experts(parent->context().plan)) {
    return make_listed_mixture(parent, listed_mixture_of(config));
  }
  return std::make_unique<SparseMixture>(parent, config);
}

}  // namespace highwater::models
