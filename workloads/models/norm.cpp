#include "workloads/models/norm.hpp"

#include <utility>

#include "workloads/eager/autocast.hpp"

namespace highwater::models {

namespace {

Tensor mean_square(const Tensor& x) {
  const Tensor square = eager::pow(x, 2.0);
  return eager::mean(square, -1, eager::KeepDim::yes);
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

// hidden_states * torch.rsqrt(variance + eps): operands without a name die before the result is
// bound.
Tensor scaled_by_root(Tensor states, const Tensor& variance) {
  Tensor scale = inverse_root(variance);
  Tensor result = eager::mul(states, scale);
  eager::end_of_frame(states, scale);
  return result;
}

// (hidden_states - mean).pow(2).mean(-1): what is squared has no name.
Tensor mean_square_of(Tensor centred) {
  Tensor square = eager::pow(centred, 2.0);
  centred.reset();
  return eager::mean(square, -1, eager::KeepDim::yes);
}

}  // namespace

Norm::Norm(Module* parent, std::string name, std::int64_t width, NormKind kind)
    : Norm(parent, std::move(name), eager::Dims{width}, kind) {}

Norm::Norm(Module* parent, std::string name, const eager::Dims& sizes, NormKind kind)
    : Module(parent, std::move(name)), kind_(kind) {
  if (kind == NormKind::layer_plain || kind == NormKind::power_plain) {
    return;
  }
  const nn::InModule scope(*this);
  weight_ = make_parameter("weight", sizes);
  if (kind == NormKind::layer || kind == NormKind::layer_1p) {
    bias_ = make_parameter("bias", sizes);
  }
}

Tensor Norm::operator()(Tensor x) const {
  const nn::InModule scope(*this);
  return call(std::move(x), [this](const Tensor& in) { return normalized(in); });
}

Tensor Norm::normalized(Tensor x) const {
  switch (kind_) {
    case NormKind::llama:
      return llama(std::move(x));
    case NormKind::gemma:
      return gemma(std::move(x));
    case NormKind::power:
    case NormKind::power_plain:
      return power(std::move(x));
    case NormKind::torchtitan:
      return torchtitan(std::move(x));
    case NormKind::cast_last:
    case NormKind::wide_weight:
      return cast_last(std::move(x));
    case NormKind::layer:
      return eager::layer_norm(x, weight_, bias_);
    case NormKind::layer_1p:
      return layer_1p(std::move(x));
    case NormKind::layer_plain:
      return eager::to_dtype(eager::layer_norm(eager::to_dtype(x, DType::fp32), {}, {}), x.dtype());
    case NormKind::layer_in_steps:
      return layer_in_steps(std::move(x));
  }
  return x;
}

Tensor Norm::llama(Tensor x) const {
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

// (self.weight * hidden_states).to(input_dtype), the weight as it is or in fp32
Tensor Norm::cast_last(Tensor x) const {
  const DType input = x.dtype();
  Tensor states = eager::to_dtype(x, DType::fp32);
  Tensor variance = mean_square(states);
  states = scaled_by_root(states, variance);
  before_parameters();
  Tensor product;
  {
    const Tensor weight =
        kind_ == NormKind::wide_weight ? eager::to_dtype(weight_, DType::fp32) : weight_;
    product = eager::mul(weight, states);
  }
  Tensor result = eager::to_dtype(product, input);
  product.reset();
  eager::end_of_frame(states, variance);
  return result;
}

// CohereLayerNorm: hidden_states - mean is computed twice.
Tensor Norm::layer_in_steps(Tensor x) const {
  const DType input = x.dtype();
  Tensor states = eager::to_dtype(x, DType::fp32);
  Tensor mean = eager::mean(states, -1, eager::KeepDim::yes);
  Tensor variance;
  variance = mean_square_of(eager::sub(states, mean));
  states = scaled_by_root(eager::sub(states, mean), variance);
  {
    Tensor weight = eager::to_dtype(weight_, DType::fp32);
    Tensor product = eager::mul(weight, states);
    weight.reset();
    states = std::move(product);
  }
  Tensor result = eager::to_dtype(states, input);
  eager::end_of_frame(states, mean, variance);
  return result;
}

// NemotronLayerNorm1P: autocast casts the arguments, and is off inside.
Tensor Norm::layer_1p(Tensor x) const {
  const auto cast = [this](const Tensor& argument) {
    const auto& autocast = runtime().autocast;
    return autocast.enabled ? eager::to_dtype(argument, autocast.dtype) : argument;
  };
  const Tensor shifted = eager::add(weight_, 1.0);
  const Tensor input = cast(x);
  const Tensor weight = cast(shifted);
  const Tensor bias = cast(bias_);
  const eager::Scoped<bool> no_autocast(runtime().autocast.enabled, false);
  return eager::layer_norm(input, weight, bias);
}

Tensor Norm::gemma(Tensor x) const {
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

// hidden_states * torch.pow(hidden_states.pow(2).mean(-1, keepdim=True) + eps, -0.5)
Tensor power_normed(Tensor wide) {
  Tensor mean_squared;
  {
    const Tensor mean = mean_square(wide);
    mean_squared = eager::add(mean, 1e-6);
  }
  Tensor scale = eager::pow(mean_squared, -0.5);
  Tensor result = eager::mul(wide, scale);
  eager::end_of_frame(scale, wide, mean_squared);
  return result;
}

Tensor Norm::power(Tensor x) const {
  Tensor output = power_normed(eager::to_dtype(x, DType::fp32));
  if (weight_.defined()) {
    Tensor factor = eager::to_dtype(weight_, DType::fp32);
    Tensor scaled = eager::mul(output, factor);
    factor.reset();
    output = std::move(scaled);
  }
  return eager::type_as(output, x);
}

Tensor Norm::torchtitan(Tensor x) const {
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
