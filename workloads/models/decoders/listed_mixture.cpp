// transformers 4.46.3 and 4.57.1: modeling_mixtral.py MixtralSparseMoeBlock, modeling_qwen2_moe.py
// Qwen2MoeSparseMoeBlock, modeling_qwen3_moe.py, modeling_olmoe.py, which are one code.
#include "workloads/models/decoders/listed_mixture.hpp"

#include <utility>

#include "workloads/models/experts/experts.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::models {

namespace {

/// Experts without a token are left out of the loop since then (expert_hit).
constexpr Release kAsksForHits{4, 52};

/// Mixtral's down projection is made second.
class ListedExpert : public Module {
 public:
  ListedExpert(Module* parent, std::size_t index, const ListedMixture& m)
      : Module(parent, std::to_string(index)), act_fn_(this, "act_fn", m.activation) {
    if (m.layers == ExpertLayerNames::w1_w2_w3) {
      gate_ = make("w1", m.hidden, m.width);
      down_ = make("w2", m.width, m.hidden);
      up_ = make("w3", m.hidden, m.width);
    } else {
      gate_ = make("gate_proj", m.hidden, m.width);
      up_ = make("up_proj", m.hidden, m.width);
      down_ = make("down_proj", m.width, m.hidden);
    }
  }

  Tensor operator()(const Tensor& states) const {
    const nn::InModule scope(*this);
    return call(states, [this](const Tensor& in) { return (*down_)(product(in)); });
  }

 private:
  std::unique_ptr<nn::Linear> make(const char* name, std::int64_t in, std::int64_t out) {
    return std::make_unique<nn::Linear>(this, name, in, out, nn::Bias::none);
  }

  [[nodiscard]] Tensor product(const Tensor& in) const {
    Tensor active;
    {
      const Tensor gate = (*gate_)(in);
      active = act_fn_(gate);
    }
    Tensor up = (*up_)(in);
    Tensor result = eager::mul(active, up);
    eager::end_of_frame(active, up);
    return result;
  }

  nn::ActivationFunction act_fn_;
  std::unique_ptr<nn::Linear> gate_;
  std::unique_ptr<nn::Linear> up_;
  std::unique_ptr<nn::Linear> down_;
};

/// The experts of each token and their weights, in the type of the states.
struct ListedRouting {
  Tensor logits;
  Tensor weights;
  Tensor selected;
};

/// What an expert's turn leaves bound.
struct TurnFrame {
  Tensor idx;
  Tensor top_x;
  Tensor current_state;
  Tensor current_hidden_states;
};

class ListedMixtureBlock : public FeedForward {
 public:
  ListedMixtureBlock(Module* parent, const ListedMixture& m)
      : FeedForward(parent, m.name),
        top_k_(m.top_k),
        normalizes_(m.normalizes),
        gate_(this, "gate", m.hidden, m.experts, nn::Bias::none),
        list_(this, "experts"),
        experts_(list_, static_cast<std::size_t>(m.experts), m) {
    if (m.make_shared_expert) {
      shared_expert_ = m.make_shared_expert(this);
      shared_expert_gate_ =
          std::make_unique<nn::Linear>(this, "shared_expert_gate", m.hidden, 1, nn::Bias::none);
    }
  }

  Tensor operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    return call(std::move(hidden_states), [this](const Tensor& in) { return mixture(in); });
  }

 private:
  [[nodiscard]] Tensor mixture(const Tensor& hidden_states) const {
    Tensor states = eager::view(hidden_states, {-1, hidden_states.size(-1)});
    ListedRouting routing = route(states);
    Tensor total = eager::empty_like(states);  // zeros
    run_experts(states, routing, total);
    if (shared_expert_) {
      total = with_shared_expert(states, std::move(total));
    }
    Tensor result = eager::reshape(total, hidden_states.sizes());
    eager::end_of_frame(states, routing.logits, routing.weights, routing.selected, total);
    return result;
  }

  [[nodiscard]] ListedRouting route(const Tensor& states) const {
    ListedRouting routing;
    routing.logits = gate_(states);
    Tensor weights = eager::softmax(routing.logits, -1, DType::fp32);
    auto top = eager::topk(weights, top_k_);
    weights = std::move(top.values);
    if (normalizes_) {
      const Tensor total = eager::sum(weights, {-1}, eager::KeepDim::yes);
      eager::div_(weights, total);
    }
    routing.weights = eager::to_dtype(weights, states.dtype());
    routing.selected = std::move(top.indices);
    return routing;
  }

  /// one_hot(selected).permute(2, 1, 0), and which experts have a token.
  [[nodiscard]] Tensor mask_of(const Tensor& selected, std::int64_t hit) const {
    const eager::NoGrad no_grad(runtime());
    Tensor mask = eager::permute(eager::one_hot(selected, count()), {2, 1, 0});
    if (runtime().transformers >= kAsksForHits) {
      Tensor counts = eager::sum(mask, {-1, -2}, eager::KeepDim::no);
      const Tensor is_hit = eager::compare("gt", {counts});
      counts.reset();
      eager::nonzero(is_hit, hit);
    }
    return mask;
  }

  void run_experts(const Tensor& states, const ListedRouting& routing, const Tensor& total) const {
    const std::vector<std::int64_t> tokens =
        tokens_of_experts(context().plan, count(), routing.selected);
    Tensor mask = mask_of(routing.selected, experts_with_tokens(tokens));
    TurnFrame frame;
    for (std::size_t expert = 0; expert < tokens.size(); ++expert) {
      if (tokens[expert] > 0) {
        auto places =
            eager::where(eager::select(mask, 0, static_cast<std::int64_t>(expert)), tokens[expert]);
        frame.idx = std::move(places[0]);
        frame.top_x = std::move(places[1]);
        run(expert, states, routing.weights, total, frame);
      }
    }
    eager::end_of_frame(mask, frame.idx, frame.top_x, frame.current_state,
                        frame.current_hidden_states);
  }

  // expert(hidden_states[None, top_x].reshape(...)) * routing_weights[top_x, idx, None]
  void run(std::size_t expert, const Tensor& states, const Tensor& weights, const Tensor& total,
           TurnFrame& frame) const {
    frame.current_state = eager::index(states, frame.top_x);
    {
      Tensor result = experts_[expert](frame.current_state);
      Tensor factor = eager::index(eager::unsqueeze(weights, 2), frame.top_x, frame.idx);
      Tensor product = eager::mul(result, factor);
      eager::end_of_frame(result, factor);
      frame.current_hidden_states = std::move(product);
    }
    add_to(total, frame.top_x, frame.current_hidden_states);
  }

  [[nodiscard]] Tensor with_shared_expert(const Tensor& states, const Tensor& total) const {
    Tensor shared = (*shared_expert_)(states);
    {
      Tensor open = eager::sigmoid((*shared_expert_gate_)(states));
      Tensor product = eager::mul(open, shared);
      open.reset();
      shared = std::move(product);
    }
    return eager::add(total, shared);
  }

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(experts_.size()); }

  std::int64_t top_k_;
  bool normalizes_;
  nn::Linear gate_;
  nn::Container list_;
  nn::BlockList<ListedExpert> experts_;
  std::unique_ptr<FeedForward> shared_expert_;
  std::unique_ptr<nn::Linear> shared_expert_gate_;
};

}  // namespace

std::unique_ptr<FeedForward> make_listed_mixture(Module* parent, const ListedMixture& mixture) {
  return std::make_unique<ListedMixtureBlock>(parent, mixture);
}

}  // namespace highwater::models
