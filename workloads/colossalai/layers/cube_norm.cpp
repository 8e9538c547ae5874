#include "workloads/colossalai/layers/cube_norm.hpp"

#include <array>
#include <utility>

#include "workloads/colossalai/layers/python_context.hpp"

namespace highwater::colossalai {

using eager::Node;

namespace {

Dims all_but_last(const Tensor& x) {
  Dims dims;
  for (std::size_t i = 0; i + 1 < x.dim(); ++i) {
    dims.push_back(static_cast<std::int64_t>(i));
  }
  return dims;
}

/// What norm_forward and norm_backward return.
struct NormForward {
  Tensor output;
  Tensor mu;
  Tensor sigma;
};

struct NormBackward {
  Tensor dmu;
  Tensor dmean;
  Tensor dvar;
};

class CubeNorm : public Layer {
 public:
  CubeNorm(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
           std::int64_t width)
      : Layer(parent, std::move(name)), cube_(cube), groups_(groups) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {width / cube.side});
    bias_ = make_parameter("bias", {width / cube.side});
    weight_hook_ = cube.pending.hook_of(weight_);
    bias_hook_ = cube.pending.hook_of(bias_);
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    return apply_function(
        "_Layernorm3DBackward", {x, weight_, bias_},
        [&](FunctionContext& context) { return forward(context, x); },
        [this](Node& node, TensorList& grads) { return backward(node, grads[0]); });
  }

 private:
  [[nodiscard]] Tensor forward(FunctionContext& context, const Tensor& x) const {
    Tensor sum = eager::sum(x, {-1}, eager::KeepDim::yes);
    Tensor square_sum;
    {
      const Tensor squares = eager::pow(x, 2.0);
      square_sum = eager::sum(squares, {-1}, eager::KeepDim::yes);
    }
    Tensor means = mean_of({sum, square_sum}, *groups_.output);
    NormForward result = cube_.norm_forward_is_fused ? norm_forward_fused(x, means)
                                                     : norm_forward(x, eager::select(means, 0, 0));
    cube_.norm_forward_is_fused = true;
    context.save_for_backward(result.mu);
    context.save_for_backward(result.sigma);
    context.save_for_backward(weight_);
    eager::end_of_frame(sum, square_sum, means);
    return result.output;
  }

  // all_reduce(torch.stack(...)) / width
  static Tensor mean_of(const TensorList& terms, ProcessGroup& group) {
    const Tensor stacked = eager::stack({terms.data(), terms.size()}, 0);
    const Tensor sum = all_reduce(stacked, group);
    return eager::div(sum, 1.0);
  }

  // TorchScript runs a function as it is written the first time, and frees what nothing reads any
  // more.
  [[nodiscard]] NormForward norm_forward(const Tensor& x, const Tensor& mean) const {
    NormForward result;
    result.mu = eager::sub(x, mean);
    Tensor square = eager::pow(mean, 2.0);
    Tensor variance = eager::sub(mean, square);
    square.reset();
    {
      const Tensor shifted = eager::add(variance, 1.0);
      variance.reset();
      result.sigma = eager::pointwise("sqrt", {shifted}, shifted.dtype());
    }
    Tensor z = eager::div(result.mu, result.sigma);
    Tensor scaled = eager::mul(weight_, z);
    z.reset();
    result.output = eager::add(scaled, bias_);
    return result;
  }

  // Then one kernel, which makes what is read outside of it.
  [[nodiscard]] NormForward norm_forward_fused(const Tensor& x, const Tensor& means) const {
    const eager::OpScope op(runtime(), "norm_forward");
    NormForward result;
    result.output = eager::empty_like(x);
    result.sigma = eager::empty_like(eager::select(means, 0, 0));
    result.mu = eager::empty_like(x);
    return result;
  }

  [[nodiscard]] Tensor reduced(Tensor terms, const Tensor& parameter) const {
    const Tensor grad = eager::sum(terms, all_but_last(terms), eager::KeepDim::no);
    terms.reset();
    const dist::Work work = groups_.input_and_weight->all_reduce(grad);
    return cube_.pending.push({grad, work}, parameter);
  }

  [[nodiscard]] TensorList backward(Node& node, const Tensor& grad) const {
    Tensor mu = node.unpack(0);
    Tensor sigma = node.unpack(1);
    Tensor weight_terms = weight_gradient(grad, mu, sigma);
    Tensor bias_grad = reduced(grad, bias_);
    Tensor weight_grad = reduced(std::move(weight_terms), weight_);
    NormBackward own =
        cube_.norm_backward_is_fused ? norm_backward_fused(grad) : norm_backward(grad, mu, sigma);
    cube_.norm_backward_is_fused = true;
    Tensor stacked = eager::stack(std::array{own.dvar, own.dmean}, 0);
    groups_.output->all_reduce(stacked).wait();
    eager::end_of_frame(own.dvar, own.dmean);
    Tensor input_grad = input_gradient(own.dmu, stacked, mu);
    eager::end_of_frame(mu, sigma, own.dmu, stacked);
    return {input_grad, weight_grad, bias_grad};
  }

  // output_grad * mu / sigma
  static Tensor weight_gradient(const Tensor& grad, const Tensor& mu, const Tensor& sigma) {
    const Tensor product = eager::mul(grad, mu);
    return eager::div(product, sigma);
  }

  // dmu + (dmean + 2 * dvar * mu) / width
  static Tensor input_gradient(const Tensor& dmu, const Tensor& stacked, const Tensor& mu) {
    Tensor doubled = eager::mul(eager::select(stacked, 0, 0), 2.0);
    Tensor terms = eager::mul(doubled, mu);
    doubled.reset();
    terms = eager::add(eager::select(stacked, 0, 1), terms);
    terms = eager::div(terms, 1.0);
    return eager::add(dmu, terms);
  }

  [[nodiscard]] NormBackward norm_backward(const Tensor& grad, const Tensor& mu,
                                           const Tensor& sigma) const {
    NormBackward result;
    Tensor dz = eager::mul(grad, weight_);
    result.dmu = eager::div(dz, sigma);
    Tensor product = eager::mul(dz, mu);
    dz.reset();
    product = eager::mul(product, -0.5);
    Tensor cube = eager::pow(sigma, -3.0);
    {
      Tensor dvar = eager::mul(product, cube);
      eager::end_of_frame(product, cube);
      product = eager::neg(result.dmu);
      result.dvar = eager::sum(dvar, {-1}, eager::KeepDim::yes);
    }
    result.dmean = eager::sum(product, {-1}, eager::KeepDim::yes);
    return result;
  }

  static NormBackward norm_backward_fused(const Tensor& grad) {
    NormBackward result;
    Tensor dvar = eager::empty_like(grad);
    Tensor dmean = eager::empty_like(grad);
    result.dmu = eager::empty_like(grad);
    result.dvar = eager::sum(dvar, {-1}, eager::KeepDim::yes);
    dvar.reset();
    result.dmean = eager::sum(dmean, {-1}, eager::KeepDim::yes);
    return result;
  }

  Cube& cube_;
  CubeGroups groups_;
  Tensor weight_;
  Tensor bias_;
  std::unique_ptr<LeafHook> weight_hook_;
  std::unique_ptr<LeafHook> bias_hook_;
};

}  // namespace

LayerPtr make_cube_norm(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
                        std::int64_t width) {
  return std::make_unique<CubeNorm>(parent, std::move(name), cube, groups, width);
}

}  // namespace highwater::colossalai
