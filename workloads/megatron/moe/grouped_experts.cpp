#include <utility>

#include "workloads/megatron/layers/fused_ops.hpp"
#include "workloads/megatron/layers/grouped_linear.hpp"
#include "workloads/megatron/layers/recomputation.hpp"
#include "workloads/megatron/moe/experts.hpp"

namespace highwater::megatron {
namespace {

/// TEGroupedMLP.
class GroupedExperts : public Experts {
 public:
  GroupedExperts(nn::Module* parent, const LayerContext& shared)
      : Experts(parent, "experts"),
        linear_fc1_(this, "linear_fc1", shared.tp, experts_of_rank(shared),
                    {.in = shared.config.hidden, .out = 2 * width_of(shared)}),
        linear_fc2_(this, "linear_fc2", shared.tp, experts_of_rank(shared),
                    {.in = width_of(shared), .out = shared.config.hidden}) {}

  Tensor operator()(const TokenDispatcher::Dispatched& rows,
                    const std::vector<std::int64_t>& /*rows_of_experts*/) const override {
    const nn::InModule scope(*this);
    Tensor wide = linear_fc1_(rows.tokens);
    const auto activation = [](const std::vector<Tensor>& in) {
      return TensorList{weighted_swiglu(in[0], in[1])};
    };
    CheckpointWithoutOutput checkpoint(context(), RecomputeModule::moe_activation);
    Tensor inner = checkpoint(activation, {wide, eager::unsqueeze(rows.probs, -1)})[0];
    Tensor output = linear_fc2_(inner);
    checkpoint.discard(output);
    eager::end_of_frame(wide, inner);
    return output;
  }

 private:
  static std::int64_t width_of(const LayerContext& shared) {
    return shared.config.ffn / shared.expert_tp;
  }

  GroupedLinear linear_fc1_;
  GroupedLinear linear_fc2_;
};

}  // namespace

std::unique_ptr<Experts> make_grouped_experts(nn::Module* parent, const LayerContext& shared) {
  return std::make_unique<GroupedExperts>(parent, shared);
}

}  // namespace highwater::megatron
