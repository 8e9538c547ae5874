// Qwen2MoeSparseMoeBlock and its relatives (transformers 5.23): a softmax or sigmoid gate, experts,
// perhaps a shared expert.
#include "workloads/models/decoders/mixture.hpp"

#include <utility>

#include "workloads/models/decoders/experts.hpp"
#include "workloads/models/decoders/grouped_mixture.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::models {

namespace {

/// What the gate of a mixture returns.
struct Choice {
  Tensor logits;
  Tensor weights;
  Tensor indices;
};

// weights /= weights.sum(dim=-1, keepdim=True)
void normalize_in_place(const Tensor& weights) {
  const Tensor total = eager::sum(weights, {-1}, eager::KeepDim::yes);
  eager::div_(weights, total);
}

class ExpertGate : public Module {
 public:
  ExpertGate(Module* parent, const LlamaConfig& config)
      : Module(parent, config.code->gate_name),
        kind_(config.code->gate),
        top_k_(config.num_experts_per_tok),
        normalizes_(config.norm_topk_prob),
        scores_by_sigmoid_(config.scores_by_sigmoid) {
    if (kind_ == ExpertGateCode::scaled_sigmoid) {
      gate_ = std::make_unique<nn::Linear>(this, "gate", config.hidden_size, config.num_experts,
                                           nn::Bias::none);
      return;
    }
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {config.num_experts, config.hidden_size});
  }

  /// `correction`: a buffer that a sigmoid gate adds before it chooses.
  Choice operator()(const Tensor& hidden_states, const Tensor& correction) const {
    const nn::InModule scope(*this);
    eager::TensorList results =
        call_with(eager::TensorList{hidden_states}, [&](const eager::TensorList& in) {
          Choice choice = choose(in[0], correction);
          return eager::TensorList{std::move(choice.logits), std::move(choice.weights),
                                   std::move(choice.indices)};
        });
    return {std::move(results[0]), std::move(results[1]), std::move(results[2])};
  }

 private:
  [[nodiscard]] Choice choose(const Tensor& hidden_states, const Tensor& correction) const {
    switch (kind_) {
      case ExpertGateCode::topk_first:
        return choose_first(hidden_states);
      case ExpertGateCode::sigmoid:
        return by_sigmoid(hidden_states, correction);
      case ExpertGateCode::scaled_sigmoid:
        return by_scaled_sigmoid(hidden_states, correction);
      case ExpertGateCode::best_scores:
        return score_best(hidden_states);
      default:
        return by_softmax(hidden_states);
    }
  }

  // Qwen2MoeTopKRouter
  [[nodiscard]] Choice by_softmax(const Tensor& hidden_states) const {
    Choice choice;
    choice.logits = eager::linear(hidden_states, weight_, {});
    Tensor probabilities = eager::softmax(choice.logits, -1, DType::fp32);
    auto top = eager::topk(probabilities, top_k_);
    if (normalizes_) {
      normalize_in_place(top.values);
    }
    choice.weights = eager::to_dtype(top.values, choice.logits.dtype());
    choice.indices = std::move(top.indices);
    eager::end_of_frame(probabilities, top.values);
    return choice;
  }

  // GraniteMoeTopKRouter: the softmax is of the chosen logits.
  [[nodiscard]] Choice choose_first(const Tensor& hidden_states) const {
    Choice choice;
    {
      const Tensor narrow = eager::linear(hidden_states, weight_, {});
      choice.logits = eager::to_dtype(narrow, DType::fp32);
    }
    auto top = eager::topk(choice.logits, top_k_);
    {
      const Tensor weights = eager::softmax(top.values, -1, std::nullopt);
      choice.weights = eager::type_as(weights, hidden_states);
    }
    choice.indices = std::move(top.indices);
    return choice;
  }

  // MiniMaxM2TopKRouter
  [[nodiscard]] Choice by_sigmoid(const Tensor& hidden_states, const Tensor& correction) const {
    Choice choice;
    choice.logits = eager::linear(hidden_states, weight_, {});
    Tensor scores;
    {
      const Tensor wide = eager::to_dtype(choice.logits, DType::fp32);
      scores = eager::sigmoid(wide);
    }
    Tensor for_choice = eager::add(scores, correction);
    auto top = eager::topk(for_choice, top_k_);  // whose values have a name, `_`
    choice.indices = top.indices;
    choice.weights = eager::gather(scores, 1, choice.indices);
    normalize_in_place(choice.weights);
    eager::end_of_frame(scores, for_choice, top.values);
    return choice;
  }

  // AfmoeTokenChoiceRouter
  [[nodiscard]] Choice by_scaled_sigmoid(const Tensor& hidden_states,
                                         const Tensor& correction) const {
    Choice choice;
    {
      const Tensor states = eager::view(hidden_states, {-1, hidden_states.size(-1)});
      const Tensor narrow = (*gate_)(states);
      choice.logits = eager::to_dtype(narrow, DType::fp32);
    }
    Tensor scores = eager::sigmoid(choice.logits);
    eager::Selected top;
    {
      const Tensor for_choice = eager::add(scores, correction);
      top = eager::topk(for_choice, top_k_);
    }
    choice.indices = top.indices;
    choice.weights = eager::gather(scores, 1, choice.indices);
    Tensor denominator;
    {
      const Tensor total = eager::sum(choice.weights, {-1}, eager::KeepDim::yes);
      denominator = eager::add(total, 1e-20);
    }
    choice.weights = eager::div(choice.weights, denominator);
    choice.weights = eager::mul(choice.weights, 1.0);
    eager::end_of_frame(top.values, scores, denominator);
    return choice;
  }

  // Cohere2MoeTopKRouter
  [[nodiscard]] Choice score_best(const Tensor& hidden_states) const {
    Choice choice;
    choice.logits = eager::linear(hidden_states, weight_, {});
    auto top = eager::topk(choice.logits, top_k_);
    Tensor scores = std::move(top.values);
    if (!scores_by_sigmoid_) {
      scores = eager::softmax(scores, -1, DType::fp32);
    } else {
      scores = eager::sigmoid(scores);
    }
    if (scores_by_sigmoid_ && normalizes_) {
      const Tensor total = eager::sum(scores, {-1}, eager::KeepDim::yes);
      scores = eager::div(scores, total);
    }
    choice.weights = eager::to_dtype(scores, hidden_states.dtype());
    choice.indices = std::move(top.indices);
    return choice;
  }

  ExpertGateCode kind_;
  std::int64_t top_k_;
  bool normalizes_;
  bool scores_by_sigmoid_;
  Tensor weight_;
  std::unique_ptr<nn::Linear> gate_;  ///< instead of the weight: AFMoE
};

/// The parts of a mixture, made in the order in which the family's code makes them.
class SparseMixture : public FeedForward {
 public:
  SparseMixture(Module* parent, const LlamaConfig& config)
      : FeedForward(parent, config.code->mixture_name),
        averages_(config.averages_shared_experts),
        shares_first_(config.code->makes_shared_first) {
    const bool experts_first = config.code->makes_experts_first;
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
    if (config.code->gate == ExpertGateCode::sigmoid) {
      const nn::InModule scope(*this);
      correction_ =
          eager::empty_on(runtime(), context().place, {config.num_experts}, context().dtype);
      register_buffer("e_score_correction_bias", correction_);
    }
    if (config.code->gate == ExpertGateCode::scaled_sigmoid) {
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
          .has_wide_correction = config.code->has_wide_correction,
          .scales_late = config.code->gate == ExpertGateCode::grouped_late_scale};
}

}  // namespace

std::unique_ptr<FeedForward> make_feed_forward(Module* parent, std::int64_t layer,
                                               const LlamaConfig& config) {
  if (!is_mixture(config, layer)) {
    return make_mlp(parent, config);
  }
  if (config.code->gate == ExpertGateCode::grouped ||
      config.code->gate == ExpertGateCode::grouped_late_scale) {
    return make_grouped_mixture(parent, grouped_mixture_of(config), config);
  }
  return std::make_unique<SparseMixture>(parent, config);
}

}  // namespace highwater::models
