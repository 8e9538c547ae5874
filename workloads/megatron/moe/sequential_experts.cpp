#include <string>
#include <utility>

#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/layers/engine_linear.hpp"
#include "workloads/megatron/layers/fused_ops.hpp"
#include "workloads/megatron/moe/experts.hpp"

namespace highwater::megatron {
namespace {

/// A linear layer of Megatron-Core's own without collectives around it (explicit_expert_comm).
class LocalLinear : public SplitLinear {
 public:
  LocalLinear(nn::Module* parent, std::string name, TensorParallel& tp, LinearSize size)
      : SplitLinear(parent, std::move(name)), tp_(tp) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {size.out, size.in});
  }

  WithBias operator()(Tensor input) const override {
    const nn::InModule scope(*this);
    return {local_linear(tp_, input, weight_), {}};
  }

 private:
  TensorParallel& tp_;
  Tensor weight_;
};

std::unique_ptr<SplitLinear> make_linear(nn::Module* parent, std::string name,
                                         const LayerContext& shared, LinearSize size) {
  if (uses_engine(parent->context())) {
    return std::make_unique<EngineLinear>(parent, std::move(name), shared.tp, size,
                                          EngineSplit::none);
  }
  return std::make_unique<LocalLinear>(parent, std::move(name), shared.tp, size);
}

/// MLP with is_expert: no collectives of its own, its result weighted by the tokens' probabilities.
class Expert : public nn::Module {
 public:
  Expert(nn::Module* parent, std::size_t index, const LayerContext& shared)
      : Module(parent, std::to_string(index)) {
    const std::int64_t width = shared.config.ffn / shared.expert_tp;
    fc1_ = make_linear(this, "linear_fc1", shared, {.in = shared.config.hidden, .out = 2 * width});
    fc2_ = make_linear(this, "linear_fc2", shared, {.in = width, .out = shared.config.hidden});
  }

  Tensor operator()(const Tensor& tokens, const Tensor& probs) const {
    const nn::InModule scope(*this);
    Tensor inner = activated(tokens, probs);
    return (*fc2_)(inner).output;
  }

 private:
  [[nodiscard]] Tensor activated(const Tensor& tokens, const Tensor& probs) const {
    const WithBias wide = (*fc1_)(tokens);
    return weighted_swiglu(wide.output, eager::unsqueeze(probs, -1));
  }

  std::unique_ptr<SplitLinear> fc1_;
  std::unique_ptr<SplitLinear> fc2_;
};

/// SequentialMLP.
class SequentialExperts : public Experts {
 public:
  SequentialExperts(nn::Module* parent, const LayerContext& shared)
      : Experts(parent, "experts"), local_experts_(this, "local_experts") {
    const auto count = static_cast<std::size_t>(experts_of_rank(shared));
    for (std::size_t i = 0; i < count; ++i) {
      experts_.push_back(std::make_unique<Expert>(&local_experts_, i, shared));
    }
  }

  Tensor operator()(const TokenDispatcher::Dispatched& rows,
                    const std::vector<std::int64_t>& rows_of_experts) const override {
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

}  // namespace

std::unique_ptr<Experts> make_sequential_experts(nn::Module* parent, const LayerContext& shared) {
  return std::make_unique<SequentialExperts>(parent, shared);
}

std::int64_t experts_of_rank(const LayerContext& shared) {
  return shared.config.experts / shared.experts.size();
}

}  // namespace highwater::megatron
