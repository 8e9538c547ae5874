#include "workloads/models/rms_norm.hpp"

#include <utility>

namespace highwater::models {

namespace {

Tensor mean_square(const Tensor& x) {
  const Tensor square = eager::pow(x, 2.0);
  return eager::mean(square, -1, true);
}

Tensor inverse_root(const Tensor& variance) {
  const Tensor shifted = eager::add(variance, 1e-6);
  return eager::rsqrt(shifted);
}

// rsqrt(x.pow(2).mean() + eps): no intermediate value has a name.
Tensor inverse_root_mean_square(const Tensor& x) {
  Tensor variance = mean_square(x);
  const Tensor shifted = eager::add(variance, 1e-6);
  variance.reset();
  return eager::rsqrt(shifted);
}

}  // namespace

RmsNorm::RmsNorm(Module* parent, std::string name, std::int64_t width, NormKind kind)
    : Module(parent, std::move(name)), kind_(kind) {
  const nn::InModule scope(*this);
  weight_ = make_parameter("weight", {width});
}

Tensor RmsNorm::operator()(Tensor x) const {
  const nn::InModule scope(*this);
  return call(std::move(x), [this](const Tensor& in) { return normalized(in); });
}

Tensor RmsNorm::normalized(Tensor x) const {
  switch (kind_) {
    case NormKind::llama:
      return llama(std::move(x));
    case NormKind::gemma:
      return gemma(std::move(x));
    case NormKind::torchtitan:
      return torchtitan(std::move(x));
  }
  return x;
}

Tensor RmsNorm::llama(Tensor x) const {
  const DType input = x.dtype();
  Tensor states = eager::to_dtype(x, DType::fp32);
  Tensor variance = mean_square(states);
  {
    Tensor scale = inverse_root(variance);
    Tensor scaled = eager::mul(states, scale);
    scale.reset();
    states = std::move(scaled);
  }
  Tensor result;
  {
    Tensor narrow = eager::to_dtype(states, input);
    before_parameters();
    result = eager::mul(weight_, narrow);
  }
  eager::end_of_frame(states, variance);
  return result;
}

Tensor RmsNorm::gemma(Tensor x) const {
  Tensor output;
  {
    Tensor wide = eager::to_dtype(x, DType::fp32);
    const Tensor scale = inverse_root_mean_square(wide);
    output = eager::mul(wide, scale);
  }
  {
    Tensor factor = eager::add(eager::to_dtype(weight_, DType::fp32), 1.0);
    Tensor shifted = eager::mul(output, factor);
    factor.reset();
    output = std::move(shifted);
  }
  return eager::to_dtype(output, x.dtype());
}

Tensor RmsNorm::torchtitan(Tensor x) const {
  Tensor wide = eager::to_dtype(x, DType::fp32);
  Tensor scaled;
  {
    const Tensor scale = inverse_root_mean_square(wide);
    scaled = eager::mul(wide, scale);
  }
  Tensor result;
  {
    const Tensor narrow = eager::type_as(scaled, x);
    result = eager::mul(weight_, narrow);
  }
  eager::end_of_frame(wide, scaled);
  return result;
}

}  // namespace highwater::models
