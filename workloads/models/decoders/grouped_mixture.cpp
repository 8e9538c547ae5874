// DeepseekV3MoE and DeepseekV3TopkRouter (transformers 5.12 to 5.24). Since 5.13 the gate routes,
// and since 5.24 its weight and its buffer are fp32 whatever the model's type.
#include "workloads/models/decoders/grouped_mixture.hpp"

#include <utility>

#include "workloads/models/experts/experts.hpp"

namespace highwater::models {

namespace {

class DeepseekRouter : public Module {
 public:
  DeepseekRouter(Module* parent, const GroupedMixture& config) : Module(parent, "gate") {
    const nn::InModule scope(*this);
    const bool is_wide = runtime().transformers >= Release{5, 24};
    weight_ = make_parameter("weight", {config.experts, config.hidden},
                             is_wide ? DType::fp32 : context().dtype);
    if (config.by_softmax) {
      return;
    }
    const DType type =
        is_wide || config.correction == CorrectionType::fp32 ? DType::fp32 : context().dtype;
    correction_ = eager::empty_on(runtime(), context().place, {config.experts}, type);
    register_buffer("e_score_correction_bias", correction_);
  }

  Tensor operator()(const Tensor& hidden_states) const {
    const nn::InModule scope(*this);
    const Tensor states = eager::view(hidden_states, {-1, hidden_states.size(-1)});
    Tensor wide = eager::to_dtype(states, DType::fp32);
    Tensor wide_weight = eager::to_dtype(weight_, DType::fp32);
    Tensor result = eager::linear(wide, wide_weight, {});
    eager::end_of_frame(wide, wide_weight);
    return result;
  }

  /// The buffer as the module's `_apply` left it.
  Tensor correction() const { return correction_; }

 private:
  Tensor weight_;
  Tensor correction_;
};

struct Routing {
  Tensor indices;
  Tensor weights;
};

class DeepseekMoe : public FeedForward {
 public:
  DeepseekMoe(Module* parent, const GroupedMixture& config, const LlamaConfig& shape)
      : FeedForward(parent, "mlp"),
        config_(config),
        experts_(this, {.count = config.experts,
                        .hidden = config.hidden,
                        .width = config.width,
                        .activation = config.activation,
                        .is_wide = config.scales_late}),
        gate_(this, config),
        shared_experts_(config.shared_experts == 0
                            ? nullptr
                            : make_gated_mlp(this, "shared_experts", shape,
                                             config.width * config.shared_experts)) {}

  Tensor operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    Tensor residuals = hidden_states;
    if (config_.scales_late) {  // BeamMoE gives its gate rows
      hidden_states = eager::view(hidden_states, {-1, hidden_states.size(-1)});
    }
    Tensor router_logits = gate_(hidden_states);
    Routing routing = config_.by_softmax ? route_by_softmax(router_logits) : route(router_logits);
    if (!config_.scales_late) {
      hidden_states = eager::view(hidden_states, {-1, hidden_states.size(-1)});
    }
    hidden_states =
        eager::view(experts_(hidden_states, routing.indices, routing.weights), residuals.sizes());
    if (config_.scales_late) {
      hidden_states = eager::mul(hidden_states, 1.0);
    }
    if (shared_experts_) {
      hidden_states = with_shared(hidden_states, residuals);
    }
    if (gate_routes()) {
      eager::end_of_frame(residuals, router_logits, routing.weights, routing.indices);
    }
    eager::end_of_frame(residuals, router_logits, routing.indices, routing.weights);
    return hidden_states;
  }

 private:
  Tensor with_shared(const Tensor& routed, const Tensor& residuals) const {
    const Tensor shared = (*shared_experts_)(residuals);
    return eager::add(routed, shared);
  }

  [[nodiscard]] bool gate_routes() const { return runtime().transformers >= Release{5, 13}; }

  // route_tokens_to_experts; in the gate itself one variable holds the scores before and after
  // groups are hidden.
  Routing route(Tensor router_logits) const {
    router_logits = eager::sigmoid(router_logits);
    Tensor for_choice = eager::add(router_logits, gate_.correction());
    Tensor group_scores = best_two(for_choice);
    Tensor group_idx = eager::topk(group_scores, config_.chosen_groups).indices;
    Tensor group_mask = eager::empty_like(group_scores);
    eager::scatter_(group_mask, 1, group_idx);
    Tensor score_mask = spread(group_mask);
    Tensor scores = hidden_groups(for_choice, score_mask);
    if (gate_routes()) {
      for_choice = std::move(scores);
      scores = for_choice;
    }
    Routing routing;
    routing.indices = eager::topk(scores, config_.experts_per_token).indices;
    if (gate_routes()) {
      scores.reset();
    }
    routing.weights = eager::gather(router_logits, 1, routing.indices);
    Tensor denominator;
    if (config_.normalizes) {
      {
        const Tensor total = eager::sum(routing.weights, {-1}, eager::KeepDim::yes);
        denominator = eager::add(total, 1e-20);
      }
      eager::div_(routing.weights, denominator);
    }
    if (config_.scales_late) {
      denominator.reset();
    } else {
      routing.weights = eager::mul(routing.weights, 1.0);
    }
    eager::end_of_frame(router_logits, for_choice, group_scores, group_idx, group_mask);
    eager::end_of_frame(score_mask, scores, denominator);
    return routing;
  }

  // DeepseekV2TopkRouter
  [[nodiscard]] Routing route_by_softmax(const Tensor& router_logits) const {
    Tensor scores = eager::softmax(router_logits, -1, DType::fp32);
    Tensor group_scores;
    Tensor group_idx;
    Tensor group_mask;
    Tensor score_mask;
    if (config_.limits_groups) {
      group_scores = eager::max(eager::view(scores, {-1, config_.groups, group_size()}), -1,
                                eager::KeepDim::no)
                         .values;
      group_idx = eager::topk(group_scores, config_.chosen_groups).indices;
      group_mask = eager::empty_like(group_scores);
      eager::scatter_(group_mask, 1, group_idx);
      score_mask = spread(group_mask);
      scores = hidden_groups(scores, score_mask);
    }
    auto top = eager::topk(scores, config_.experts_per_token);
    Routing routing{.indices = std::move(top.indices), .weights = std::move(top.values)};
    routing.weights = eager::mul(routing.weights, 1.0);
    eager::end_of_frame(scores, group_scores, group_idx, group_mask, score_mask);
    return routing;
  }

  [[nodiscard]] std::int64_t group_size() const { return config_.experts / config_.groups; }

  Tensor best_two(const Tensor& for_choice) const {
    const Tensor groups = eager::view(for_choice, {-1, config_.groups, group_size()});
    const Tensor best = eager::topk(groups, 2).values;
    return eager::sum(best, {-1}, eager::KeepDim::no);
  }

  Tensor spread(const Tensor& group_mask) const {
    const Tensor groups =
        eager::expand(eager::unsqueeze(group_mask, -1), {-1, config_.groups, group_size()});
    return eager::reshape(groups, {-1, config_.experts});
  }

  static Tensor hidden_groups(const Tensor& for_choice, const Tensor& score_mask) {
    Tensor chosen = eager::to_dtype(score_mask, DType::boolean);
    const Tensor others = eager::compare("bitwise_not", {chosen});
    chosen.reset();
    return eager::masked_fill(for_choice, others);
  }

  GroupedMixture config_;
  MixtureOfExperts experts_;
  DeepseekRouter gate_;
  std::unique_ptr<FeedForward> shared_experts_;
};

}  // namespace

std::unique_ptr<FeedForward> make_grouped_mixture(Module* parent, const GroupedMixture& mixture,
                                                  const LlamaConfig& shape) {
  return std::make_unique<DeepseekMoe>(parent, mixture, shape);
}

}  // namespace highwater::models
