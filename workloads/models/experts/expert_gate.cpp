// Qwen2MoeTopKRouter and its relatives (transformers 5.23): how each gate scores and chooses.
#include "workloads/models/experts/expert_gate.hpp"

#include <utility>

namespace highwater::models {

namespace {

// weights /= weights.sum(dim=-1, keepdim=True)
void normalize_in_place(const Tensor& weights) {
  const Tensor total = eager::sum(weights, {-1}, eager::KeepDim::yes);
  eager::div_(weights, total);
}

}  // namespace

ExpertGate::ExpertGate(Module* parent, const LlamaConfig& config)
    : Module(parent, config.code->mixture.gate_name),
      kind_(config.code->mixture.gate),
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

Choice ExpertGate::operator()(const Tensor& hidden_states, const Tensor& correction) const {
  const nn::InModule scope(*this);
  eager::TensorList results =
      call_with(eager::TensorList{hidden_states}, [&](const eager::TensorList& in) {
        Choice choice = choose(in[0], correction);
        return eager::TensorList{std::move(choice.logits), std::move(choice.weights),
                                 std::move(choice.indices)};
      });
  return {std::move(results[0]), std::move(results[1]), std::move(results[2])};
}

Choice ExpertGate::choose(const Tensor& hidden_states, const Tensor& correction) const {
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
Choice ExpertGate::by_softmax(const Tensor& hidden_states) const {
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
Choice ExpertGate::choose_first(const Tensor& hidden_states) const {
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
Choice ExpertGate::by_sigmoid(const Tensor& hidden_states, const Tensor& correction) const {
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
Choice ExpertGate::by_scaled_sigmoid(const Tensor& hidden_states, const Tensor& correction) const {
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
Choice ExpertGate::score_best(const Tensor& hidden_states) const {
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

}  // namespace highwater::models
