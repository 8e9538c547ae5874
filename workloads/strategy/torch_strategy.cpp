#include "workloads/strategy/torch_strategy.hpp"

namespace highwater {
namespace {

using eager::Tensor;

// One group of all parameters, or norms and biases in a second one (dimension below 2).
std::vector<std::vector<Tensor>> parameter_groups(const std::vector<Tensor>& parameters,
                                                  int groups) {
  if (groups == 1) {
    return {parameters};
  }
  std::vector<std::vector<Tensor>> result(2);
  for (const auto& parameter : parameters) {
    result[parameter.dim() >= 2 ? 0 : 1].push_back(parameter);
  }
  return result;
}

bool scales_gradients(const TrainingPlan& plan) {
  return plan.precision == Precision::amp_fp16 && plan.optimizer.kind != OptimizerKind::none;
}

}  // namespace

TorchStrategy::TorchStrategy(eager::Runtime& runtime, const TrainingPlan& plan,
                             std::unique_ptr<Wrapper> wrapper)
    : plan_(plan),
      wrapper_(std::move(wrapper)),
      optimizer_(runtime, plan.optimizer,
                 parameter_groups(wrapper_->parameters(), plan.optimizer.param_groups),
                 wrapper_->resharding()) {
  if (scales_gradients(plan)) {
    scaler_.emplace(runtime, [this](const Tensor& found) { wrapper_->share_found_inf(found); });
  }
}

void TorchStrategy::backward(const Tensor& loss) {
  eager::backward(scaler_ ? scaler_->scale(loss) : loss);
}

void TorchStrategy::clip_gradients() {
  if (scaler_) {
    scaler_->unscale();
  }
  wrapper_->clip_gradients();
}

void TorchStrategy::step() {
  if (scaler_) {
    scaler_->step(optimizer_);
    scaler_->update();
  } else {
    optimizer_.step();
  }
}

void TorchStrategy::zero_grad() {
  optimizer_.zero_grad(plan_.set_to_none);
}

}  // namespace highwater
