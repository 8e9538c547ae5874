#include "workloads/nn/layers.hpp"

#include <stdexcept>

#include "workloads/nn/float8_linear.hpp"
#include "workloads/nn/zero3_linear.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::nn {

namespace {

// NewGELUActivation: 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))), operator by operator.
Tensor gelu_new(const Tensor& x) {
  Tensor half = eager::mul(x, 0.5);
  Tensor cube = eager::pow(x, 3.0);
  Tensor scaled = eager::mul(cube, 0.044715);
  cube.reset();
  Tensor inner = eager::add(x, scaled);
  scaled.reset();
  Tensor argument = eager::mul(inner, 0.7978845608);
  inner.reset();
  Tensor curve = eager::tanh(argument);
  argument.reset();
  Tensor factor = eager::add(curve, 1.0);
  curve.reset();
  Tensor result = eager::mul(half, factor);
  eager::end_of_frame(half, factor);
  return result;
}

// Results of operators with parameters are ColoTensors under Colossal-AI. Functions that could work
// in place (F.dropout, F.relu, F.silu) get a copy of such an argument, whether they work in place
// or not (colossalai/nn/_ops/element_wise.py).
Tensor saved_from_change(const ModelContext& context, const Tensor& x) {
  return context.plan.framework == Framework::colossalai_gemini ? eager::clone(x) : x;
}

// An adapted layer is the adapter's, which calls the layer as a module of its own.
Tensor call_adapted(const Module& layer, const Adapter* adapter, Tensor x,
                    const Adapter::Forward& forward) {
  return layer.call(std::move(x), [&](const Tensor& in) {
    return adapter != nullptr ? adapter->run(in, forward) : forward(in);
  });
}

}  // namespace

Linear::Linear(Module* parent, std::string name, std::int64_t in, std::int64_t out, Bias with_bias)
    : Module(parent, std::move(name)), in_(in), out_(out) {
  const InModule scope(*this);
  weight = make_parameter("weight", {out, in});
  if (with_bias == Bias::present) {
    bias = make_parameter("bias", {out});
  }
}

Tensor Linear::operator()(Tensor x) const {
  if (is_wrapped()) {
    return call_wrapped(TensorList{std::move(x)},
                        [this](const TensorList& in) { return TensorList{run(in.front())}; })
        .front();
  }
  return run(std::move(x));
}

Tensor Linear::run(Tensor x) const {
  const InModule scope(*this);
  return call_adapted(*this, adapter_.get(), std::move(x),
                      [this](const Tensor& in) { return product(in); });
}

Tensor Linear::product(const Tensor& x) const {
  if (quantized_) {
    return quantized_->apply(x, bias);
  }
  if (in_float8_) {
    return float8_linear(x, weight, bias);
  }
  return replaces_linear(context().plan) ? zero3_linear(x, weight, bias)
                                         : eager::linear(x, weight, bias);
}

void Linear::quantize(const Tensor& packed, std::unique_ptr<QuantizedWeight> quantized) {
  runtime().categorize(packed, Category::parameter);
  tie_parameter("weight", packed);
  weight = packed;
  quantized_ = std::move(quantized);
}

void Linear::tie_weight(const Tensor& embedding) {
  if (context().place != eager::Place::meta || is_fsdp2(context().plan.parallel)) {
    tie_parameter("weight", embedding);
    weight = embedding;
  }
}

Conv1D::Conv1D(Module* parent, std::string name, std::int64_t in, std::int64_t out)
    : Module(parent, std::move(name)) {
  const InModule scope(*this);
  weight = make_parameter("weight", {in, out});
  bias = make_parameter("bias", {out});
}

Tensor Conv1D::operator()(Tensor x) const {
  const InModule scope(*this);
  return call_adapted(*this, adapter_.get(), std::move(x), [this](const Tensor& in) {
    Dims sizes = in.sizes();
    sizes.back() = bias.sizes()[0];
    const Tensor flat = eager::addmm(bias, eager::view(in, {-1, in.size(-1)}), weight);
    return eager::view(flat, sizes);
  });
}

Embedding::Embedding(Module* parent, std::string name, std::int64_t rows, std::int64_t width)
    : Module(parent, std::move(name)) {
  const InModule scope(*this);
  weight = make_parameter("weight", {rows, width});
}

Tensor Embedding::operator()(Tensor indices) const {
  const InModule scope(*this);
  return call(std::move(indices), [this](const Tensor& in) { return hooked(rows_of(in)); });
}

Tensor Embedding::look_up(const Tensor& indices) const {
  const InModule scope(*this);
  return call(indices, [this](const Tensor& in) { return rows_of(in); });
}

Tensor Embedding::rows_of(const Tensor& indices) const {
  return lookup_ ? lookup_(weight, indices) : eager::embedding(weight, indices);
}

Tensor Embedding::hooked(Tensor output) const {
  if (output_requires_grad_ && output.is_leaf()) {
    output->requires_grad = true;
  }
  return output;
}

LayerNorm::LayerNorm(Module* parent, std::string name, std::int64_t width, bool elementwise_affine)
    : Module(parent, std::move(name)) {
  if (elementwise_affine) {
    const InModule scope(*this);
    weight_ = make_parameter("weight", {width});
    bias_ = make_parameter("bias", {width});
  }
}

Tensor LayerNorm::operator()(Tensor x) const {
  const InModule scope(*this);
  return call(std::move(x),
              [this](const Tensor& in) { return eager::layer_norm(in, weight_, bias_); });
}

Dropout::Dropout(Module* parent, std::string name, double p)
    : Module(parent, std::move(name)), p_(context().dropout(p)) {}

Tensor Dropout::operator()(Tensor x) const {
  const InModule scope(*this);
  return plain_dropout(context(), x, p_);
}

Tensor functional_dropout(const ModelContext& context, const Tensor& x, double p) {
  return plain_dropout(context, x, context.dropout(p));
}

Tensor plain_dropout(const ModelContext& context, const Tensor& x, double p) {
  return eager::dropout(saved_from_change(context, x), p, context.training);
}

Tensor activate(const ModelContext& context, Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::relu:
      return eager::relu(saved_from_change(context, x));
    case Activation::gelu:
    case Activation::gelu_pytorch_tanh:
      return eager::gelu(x);
    case Activation::gelu_new:
      return gelu_new(x);
    case Activation::silu:
      return eager::silu(saved_from_change(context, x));
    case Activation::xielu:
      throw std::logic_error("xIELU has parameters, and is a module of its own");
    case Activation::relu2: {  // ReLUSquaredActivation: torch.square is pow(2)
      const Tensor positive = eager::relu(saved_from_change(context, x));
      return eager::pow(positive, 2.0);
    }
  }
  return x;
}

}  // namespace highwater::nn
