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
  const Tensor total = eager::sum(weights, {-1}, true);
  eager::div_(weights, total);
}

class ExpertGate : public Module {
 public:
  ExpertGate(Module* parent, const LlamaConfig& config)
      : Module(parent, config.code->gate_name),
        kind_(config.code->gate),
        top_k_(config.num_experts_per_tok),
        normalizes_(config.norm_topk_prob) {
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

  ExpertGateCode kind_;
  std::int64_t top_k_;
  bool normalizes_;
  Tensor weight_;
};

/// The parts of a mixture, made in the order in which the family's code makes them.
class SparseMixture : public FeedForward {
 public:
  SparseMixture(Module* parent, const LlamaConfig& config)
      : FeedForward(parent, config.code->mixture_name) {
    const bool experts_first = config.code->makes_experts_first;
    if (!experts_first) {
      gate_ = std::make_unique<ExpertGate>(this, config);
    }
    experts_ = std::make_unique<MixtureOfExperts>(this, shape_of_experts(config));
    if (experts_first) {
      gate_ = std::make_unique<ExpertGate>(this, config);
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
  }

  [[nodiscard]] Tensor mixture(const Tensor& hidden_states) const {
    Tensor states = eager::view(hidden_states, {-1, hidden_states.size(-1)});
    Tensor shared;
    if (shared_expert_) {
      shared = (*shared_expert_)(states);
    }
    Choice choice = (*gate_)(states, correction_);
    Tensor result = (*experts_)(states, choice.indices, choice.weights);
    if (shared_expert_) {
      shared = gated(shared, states);
      result = eager::add(result, shared);
    }
    result = eager::reshape(result, hidden_states.sizes());
    eager::end_of_frame(states, shared, choice.logits, choice.weights, choice.indices);
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
  std::unique_ptr<FeedForward> shared_expert_;
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
          .has_wide_correction = config.code->has_wide_correction};
}

}  // namespace

std::unique_ptr<FeedForward> make_feed_forward(Module* parent, std::int64_t layer,
                                               const LlamaConfig& config) {
  if (!is_mixture(config, layer)) {
    return make_mlp(parent, config);
  }
  if (config.code->gate == ExpertGateCode::grouped) {
    return make_grouped_mixture(parent, grouped_mixture_of(config), config);
  }
  return std::make_unique<SparseMixture>(parent, config);
}

}  // namespace highwater::models
