#include "workloads/megatron/moe/moe_layer.hpp"

#include <array>
#include <utility>

#include "workloads/megatron/layers/fused_ops.hpp"
#include "workloads/megatron/moe/moe_router.hpp"
#include "workloads/megatron/moe/token_dispatcher.hpp"

namespace highwater::megatron {
namespace {

/// MLP with is_expert: no collectives of its own, its result weighted by the tokens' probabilities.
class Expert : public nn::Module {
 public:
  Expert(nn::Module* parent, std::size_t index, const Config& config, TensorParallel& tp)
      : Module(parent, std::to_string(index)),
        tp_(tp),
        linear_fc1_(this, "linear_fc1"),
        linear_fc2_(this, "linear_fc2") {
    const std::int64_t width = config.ffn / tp.size();
    fc1_ = make(linear_fc1_, {2 * width, config.hidden});
    fc2_ = make(linear_fc2_, {config.hidden, width});
  }

  Tensor operator()(const Tensor& tokens, const Tensor& probs) const {
    const nn::InModule scope(*this);
    Tensor inner = activated(tokens, probs);
    return call(linear_fc2_, inner, fc2_);
  }

 private:
  static Tensor make(nn::Container& linear, const Dims& sizes) {
    const nn::InModule scope(linear);
    return linear.make_parameter("weight", sizes);
  }

  [[nodiscard]] Tensor call(const nn::Container& linear, const Tensor& input,
                            const Tensor& weight) const {
    const nn::InModule scope(linear);
    return local_linear(tp_, input, weight);
  }

  [[nodiscard]] Tensor activated(const Tensor& tokens, const Tensor& probs) const {
    const Tensor wide = call(linear_fc1_, tokens, fc1_);
    return weighted_swiglu(wide, eager::unsqueeze(probs, -1));
  }

  TensorParallel& tp_;
  nn::Container linear_fc1_;
  nn::Container linear_fc2_;
  Tensor fc1_;
  Tensor fc2_;
};

/// SequentialMLP.
class Experts : public nn::Module {
 public:
  Experts(nn::Module* parent, const Config& config, TensorParallel& tp, std::int64_t local)
      : Module(parent, "experts"), local_experts_(this, "local_experts") {
    for (std::int64_t i = 0; i < local; ++i) {
      experts_.push_back(
          std::make_unique<Expert>(&local_experts_, static_cast<std::size_t>(i), config, tp));
    }
  }

  Tensor operator()(const TokenDispatcher::Dispatched& rows,
                    const std::vector<std::int64_t>& rows_of_experts) const {
    const nn::InModule scope(*this);
    if (experts_.size() == 1) {
      return (*experts_.front())(rows.tokens, rows.probs);
    }
    const TensorList tokens = eager::split_rows(rows.tokens, rows_of_experts);
    const TensorList probs = eager::split_rows(rows.probs, rows_of_experts);
    TensorList outputs;
    for (std::size_t i = 0; i < experts_.size(); ++i) {
      outputs.push_back((*experts_[i])(tokens[i], probs[i]));
    }
    Tensor joined = eager::cat({outputs.data(), outputs.size()}, 0);
    eager::release_list(outputs);
    return joined;
  }

 private:
  nn::Container local_experts_;
  std::vector<std::unique_ptr<Expert>> experts_;
};

class MoeLayer : public FeedForward {
 public:
  MoeLayer(nn::Module* parent, const Config& config, TensorParallel& tp, ExpertParallel& experts)
      : FeedForward(parent, "mlp"),
        router_(this, config, experts),
        dispatcher_(config, tp, experts),
        experts_(this, config, tp, config.experts / experts.size()) {}

  // custom_forward, whose variables live until it returns.
  WithBias operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    RoutingResult routed = router_(hidden_states);
    TokenDispatcher::Dispatched sent = dispatcher_.preprocess(hidden_states, routed);
    routed.probs = sent.probs;
    TokenDispatcher::Dispatched received = dispatcher_.dispatch(sent);
    routed.probs = received.probs;
    sent.probs.reset();
    Tensor output = computed(received);
    output = dispatcher_.combine(output);
    output = dispatcher_.combine_postprocess(output);
    eager::end_of_frame(sent.tokens, routed.probs, received.probs, routed.routing_map,
                        received.tokens);
    return {std::move(output), {}};
  }

 private:
  // routed_experts_compute.
  [[nodiscard]] Tensor computed(const TokenDispatcher::Dispatched& received) const {
    TokenDispatcher::Dispatched rows = dispatcher_.postprocess(received);
    Tensor expert_output = experts_(rows, dispatcher_.rows_of_experts());
    Tensor output = dispatcher_.combine_preprocess(expert_output);
    eager::end_of_frame(rows.tokens, rows.probs, expert_output);
    return output;
  }

  Router router_;
  mutable TokenDispatcher dispatcher_;
  Experts experts_;
};

}  // namespace

std::unique_ptr<FeedForward> make_moe_layer(nn::Module* parent, const Config& config,
                                            TensorParallel& tp, ExpertParallel& experts) {
  return std::make_unique<MoeLayer>(parent, config, tp, experts);
}

bool is_expert(const nn::NamedTensor& parameter) {
  return parameter.name.find("mlp.experts.") != std::string::npos;
}

}  // namespace highwater::megatron
