#include "workloads/megatron/moe/moe_layer.hpp"

#include <optional>
#include <utility>

#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/layers/recomputation.hpp"
#include "workloads/megatron/moe/experts.hpp"
#include "workloads/megatron/moe/mlp.hpp"
#include "workloads/megatron/moe/moe_router.hpp"
#include "workloads/megatron/moe/token_dispatcher.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {
namespace {

class MoeLayer : public FeedForward {
 public:
  MoeLayer(nn::Module* parent, const LayerContext& shared)
      : FeedForward(parent, "mlp"),
        router_(this, shared),
        dispatcher_(context(), shared),
        experts_(make_experts(shared)) {
    if (shared.config.shared_ffn > 0) {
      shared_experts_.emplace(this, "shared_experts", shared, shared.config.shared_ffn,
                              MlpInput::normalized);
    }
  }

  WithBias operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    const auto segment = [this](const std::vector<Tensor>& in) { return TensorList{mixed(in[0])}; };
    return {checkpointed(context(), RecomputeModule::moe, segment, {hidden_states})[0], {}};
  }

 private:
  // custom_forward, whose variables live until it returns.
  [[nodiscard]] Tensor mixed(const Tensor& hidden_states) const {
    Tensor shared_output = of_shared_experts(hidden_states);
    RoutingResult routed = router_(hidden_states);
    TokenDispatcher::Dispatched sent = dispatcher_.preprocess(hidden_states, routed);
    routed.probs = sent.probs;
    TokenDispatcher::Dispatched received = dispatcher_.dispatch(sent);
    routed.probs = received.probs;
    sent.probs.reset();
    Tensor rows = computed(received);
    rows = dispatcher_.combine(rows);
    Tensor output = postprocess(rows, shared_output);
    rows.reset();
    eager::end_of_frame(sent.tokens, shared_output, routed.probs, received.probs,
                        routed.routing_map, received.tokens);
    return output;
  }

  // shared_experts_compute.
  [[nodiscard]] Tensor of_shared_experts(const Tensor& hidden_states) const {
    if (!shared_experts_) {
      return {};
    }
    const auto segment = [this](const std::vector<Tensor>& in) {
      return TensorList{(*shared_experts_)(in[0]).output};
    };
    return checkpointed(context(), RecomputeModule::shared_experts, segment, {hidden_states})[0];
  }

  std::unique_ptr<Experts> make_experts(const LayerContext& shared) {
    const bool is_grouped =
        uses_engine(context()) && context().plan.parallel.megatron.moe_grouped_gemm;
    return is_grouped ? make_grouped_experts(this, shared) : make_sequential_experts(this, shared);
  }

  // routed_experts_compute.
  [[nodiscard]] Tensor computed(const TokenDispatcher::Dispatched& received) const {
    TokenDispatcher::Dispatched rows = dispatcher_.postprocess(received);
    Tensor expert_output = (*experts_)(rows, dispatcher_.rows_of_experts());
    Tensor output = dispatcher_.combine_preprocess(expert_output);
    eager::end_of_frame(rows.tokens, rows.probs, expert_output);
    return output;
  }

  [[nodiscard]] Tensor postprocess(const Tensor& rows, const Tensor& shared_output) const {
    const Tensor routed = dispatcher_.combine_postprocess(rows);
    return shared_output.defined() ? eager::add(routed, shared_output) : routed;
  }

  Router router_;
  mutable TokenDispatcher dispatcher_;
  std::unique_ptr<Experts> experts_;
  std::optional<Mlp> shared_experts_;
};

}  // namespace

std::unique_ptr<FeedForward> make_moe_layer(nn::Module* parent, const LayerContext& shared) {
  return std::make_unique<MoeLayer>(parent, shared);
}

bool is_expert(const nn::NamedTensor& parameter) {
  return parameter.name.find("mlp.experts.") != std::string::npos;
}

}  // namespace highwater::megatron
