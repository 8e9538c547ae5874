#include "workloads/colossalai/layers/cube_layers.hpp"

#include <array>
#include <map>
#include <utility>

#include "workloads/colossalai/layers/collectives.hpp"
#include "workloads/colossalai/layers/leaf_hook.hpp"
#include "workloads/colossalai/layers/vocab_loss.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/plan/tensor_grid.hpp"

namespace highwater::colossalai {

using eager::Node;

namespace {

/// Gradients that are still being reduced (AsyncGradientBucket).
class PendingGradients {
 public:
  /// push_async_grad: the zeros that autograd gets instead.
  Tensor push(Scattered pending, const Tensor& parameter) {
    pending_[parameter.get()] = std::move(pending);
    const Tensor& grad = pending_[parameter.get()].result;
    const eager::OpScope op(grad.runtime(), "zeros_like");
    return eager::empty_like(grad);
  }

  /// _async_grad_hook: adds what was reduced, in place.
  std::unique_ptr<LeafHook> hook_of(const Tensor& parameter) {
    return std::make_unique<LeafHook>(parameter, [this, key = parameter.get()](Tensor grad) {
      pending_.at(key).work.wait();
      grad.runtime().launch(1);
      pending_.erase(key);
      return grad;
    });
  }

 private:
  std::map<const eager::TensorImpl*, Scattered> pending_;
};

/// The groups of one rank. Layers swap what they call input and output, since one's output is the
/// next one's input (swap_in_out_group).
struct Cube {
  Cube(eager::Runtime& runtime, const Parallelism& p)
      : side(grid_side(p)),
        rows(runtime, side, p.backend),
        columns(runtime, side, p.backend),
        layers(runtime, side, p.backend),
        rows_and_columns(runtime, side * side, p.backend),
        layers_and_columns(runtime, side * side, p.backend) {}

  int side;
  ProcessGroup rows;
  ProcessGroup columns;
  ProcessGroup layers;
  ProcessGroup rows_and_columns;
  ProcessGroup layers_and_columns;
  PendingGradients pending;
  bool norm_forward_is_fused = false;   ///< TorchScript has run it once
  bool norm_backward_is_fused = false;  ///< the same
};

struct CubeGroups {
  ProcessGroup* input;
  ProcessGroup* weight;
  ProcessGroup* output;
  ProcessGroup* input_and_weight;
  ProcessGroup* output_and_weight;

  void swap() {
    std::swap(input, output);
    std::swap(input_and_weight, output_and_weight);
  }
};

Dims rows_of(const Tensor& x) {
  return {-1, x.size(-1)};
}

Dims all_but_last(const Tensor& x) {
  Dims dims;
  for (std::size_t i = 0; i + 1 < x.dim(); ++i) {
    dims.push_back(static_cast<std::int64_t>(i));
  }
  return dims;
}

/// Which way a weight lies: a linear layer's is [in, out], a head's [classes, in].
enum class WeightLayout : std::uint8_t { in_out, out_in };

/// _Linear3D and _VocabParallelClassifier3D.
class CubeProduct {
 public:
  CubeProduct(Cube& cube, const CubeGroups& groups, WeightLayout layout)
      : cube_(cube), groups_(groups), layout_(layout) {}

  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& parameter) const {
    return apply_function(
        "_Linear3DBackward", {x, parameter},
        [&](FunctionContext& context) { return forward(context, x, parameter); },
        [this, key = parameter](Node& node, TensorList& grads) {
          return backward(node, grads[0], key);
        });
  }

 private:
  [[nodiscard]] Tensor oriented(const Tensor& weight) const {
    return layout_ == WeightLayout::in_out ? weight : eager::transpose(weight, 0, 1);
  }

  [[nodiscard]] Tensor forward(FunctionContext& context, const Tensor& x,
                               const Tensor& parameter) const {
    const Tensor input = all_gather(x, 0, *groups_.input);
    const Tensor weight = oriented(all_gather(parameter, 0, *groups_.weight));
    context.save_for_backward(input);
    context.save_for_backward(weight);
    const Tensor product = eager::matmul(input, weight);
    return eager::alias(reduce_scatter(product, 0, *groups_.output));
  }

  [[nodiscard]] TensorList backward(Node& node, const Tensor& part, const Tensor& parameter) const {
    Tensor input = node.unpack(0);
    Tensor weight = node.unpack(1);
    Tensor grad = all_gather(part, 0, *groups_.output);
    Tensor input_grad = eager::matmul(grad, eager::transpose(weight, 0, 1));
    Scattered input_part = start_reduce_scatter(input_grad, 0, *groups_.input);
    input_grad.reset();
    Tensor weight_grad =
        eager::matmul(eager::transpose(eager::reshape(input, rows_of(input)), 0, 1),
                      eager::reshape(grad, rows_of(grad)));
    Scattered weight_part = start_reduce_scatter(oriented(weight_grad), 0, *groups_.weight);
    weight_grad.reset();
    Tensor zeros = cube_.pending.push(std::move(weight_part), parameter);
    input_part.work.wait();
    eager::end_of_frame(input, weight, grad);
    return {input_part.result, zeros};
  }

  Cube& cube_;
  CubeGroups groups_;
  WeightLayout layout_;
};

/// register_hook(_sync_grad_hook): a copy of the gradient is summed.
std::unique_ptr<LeafHook> summing_hook(const Tensor& parameter, ProcessGroup& group) {
  return std::make_unique<LeafHook>(
      parameter, [&group](Tensor grad) { return all_reduce(eager::clone(grad), group); });
}

class CubeLinear : public Layer {
 public:
  CubeLinear(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
             std::int64_t in, std::int64_t out)
      : Layer(parent, std::move(name)), product_(cube, groups, WeightLayout::in_out) {
    const nn::InModule scope(*this);
    const std::int64_t side = cube.side;
    weight_ = make_parameter("weight", {in / (side * side), out / side});
    bias_ = make_parameter("bias", {out / side});
    weight_hook_ = cube.pending.hook_of(weight_);
    groups.output_and_weight->broadcast(bias_).wait();
    bias_hook_ = summing_hook(bias_, *groups.output_and_weight);
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::linear; }

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    Tensor output = product_(x, weight_);
    output = eager::add(output, bias_);
    return output;
  }

 private:
  CubeProduct product_;
  Tensor weight_;
  Tensor bias_;
  std::unique_ptr<LeafHook> weight_hook_;
  std::unique_ptr<LeafHook> bias_hook_;
};

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
    Tensor sum = eager::sum(x, {-1}, true);
    Tensor square_sum;
    {
      const Tensor squares = eager::pow(x, 2.0);
      square_sum = eager::sum(squares, {-1}, true);
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
    const Tensor grad = eager::sum(terms, all_but_last(terms), false);
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
      result.dvar = eager::sum(dvar, {-1}, true);
    }
    result.dmean = eager::sum(product, {-1}, true);
    return result;
  }

  static NormBackward norm_backward_fused(const Tensor& grad) {
    NormBackward result;
    Tensor dvar = eager::empty_like(grad);
    Tensor dmean = eager::empty_like(grad);
    result.dmu = eager::empty_like(grad);
    result.dvar = eager::sum(dvar, {-1}, true);
    dvar.reset();
    result.dmean = eager::sum(dmean, {-1}, true);
    return result;
  }

  Cube& cube_;
  CubeGroups groups_;
  Tensor weight_;
  Tensor bias_;
  std::unique_ptr<LeafHook> weight_hook_;
  std::unique_ptr<LeafHook> bias_hook_;
};

/// Embedding3D: whole rows of this rank's columns, for its part of the batch.
class CubeEmbedding : public Layer {
 public:
  CubeEmbedding(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
                std::int64_t rows, std::int64_t width)
      : Layer(parent, std::move(name)), side_(cube.side) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {rows, width / side_});
    groups.input_and_weight->broadcast(weight_).wait();
    hook_ = summing_hook(weight_, *groups.input_and_weight);
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::embedding; }

  Tensor operator()(Tensor ids) const override {
    const nn::InModule scope(*this);
    Tensor own = own_rows(own_rows(ids, side_, 0), side_, 0);
    Tensor output = eager::embedding(weight_, own);
    own.reset();
    return output;
  }

 private:
  std::int64_t side_;
  Tensor weight_;
  std::unique_ptr<LeafHook> hook_;
};

class CubeVocabEmbedding : public Layer {
 public:
  CubeVocabEmbedding(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
                     std::int64_t rows, std::int64_t width)
      : Layer(parent, std::move(name)), side_(cube.side), groups_(groups) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {rows / (side_ * side_), width / side_});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::embedding; }

  Tensor operator()(Tensor all_ids) const override {
    const nn::InModule scope(*this);
    Tensor ids = own_rows(all_ids, side_, 0);
    OwnRows own(ids);
    Tensor weight = gather_tensor(weight_, 0, *groups_.weight);
    Tensor part = eager::embedding(weight, own.places);
    eager::fill_rows_(part, own.mask);
    Tensor output = reduce_scatter_tensor(part, 0, *groups_.input);
    eager::end_of_frame(ids, own.mask, own.places, weight, part);
    return output;
  }

 private:
  std::int64_t side_;
  CubeGroups groups_;
  Tensor weight_;
};

class CubeHead : public Layer {
 public:
  CubeHead(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
           std::int64_t in, std::int64_t classes, const Tensor& tied)
      : Layer(parent, std::move(name)), product_(cube, groups, WeightLayout::out_in) {
    const nn::InModule scope(*this);
    const std::int64_t side = cube.side;
    if (tied.defined()) {
      weight_ = tied;
      register_parameter("weight", tied);
    } else {
      weight_ = make_parameter("weight", {classes / (side * side), in / side});
    }
    hook_ = cube.pending.hook_of(weight_);
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::linear; }

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    return product_(x, weight_);
  }

 private:
  CubeProduct product_;
  Tensor weight_;
  std::unique_ptr<LeafHook> hook_;
};

class CubeLayers : public LayerMaker {
 public:
  CubeLayers(eager::Runtime& runtime, const Parallelism& p)
      : cube_(runtime, p),
        groups_{.input = &cube_.rows,
                .weight = &cube_.columns,
                .output = &cube_.layers,
                .input_and_weight = &cube_.rows_and_columns,
                .output_and_weight = &cube_.layers_and_columns} {}

  LayerPtr linear(nn::Module* parent, std::string name, std::int64_t in,
                  std::int64_t out) override {
    auto layer = std::make_unique<CubeLinear>(parent, std::move(name), cube_, groups_, in, out);
    groups_.swap();
    return layer;
  }

  LayerPtr norm(nn::Module* parent, std::string name, std::int64_t width) override {
    return std::make_unique<CubeNorm>(parent, std::move(name), cube_, groups_, width);
  }

  LayerPtr embedding(nn::Module* parent, std::string name, std::int64_t rows,
                     std::int64_t width) override {
    if (rows > kVocabParallelLimit) {
      return std::make_unique<CubeVocabEmbedding>(parent, std::move(name), cube_, groups_, rows,
                                                  width);
    }
    return std::make_unique<CubeEmbedding>(parent, std::move(name), cube_, groups_, rows, width);
  }

  LayerPtr head(nn::Module* parent, std::string name, std::int64_t in, std::int64_t classes,
                const Tensor& tied) override {
    auto layer =
        std::make_unique<CubeHead>(parent, std::move(name), cube_, groups_, in, classes, tied);
    groups_.swap();
    return layer;
  }

  Tensor loss(const Tensor& logits, const Tensor& all_targets) override {
    const Tensor targets = own_rows(own_rows(all_targets, cube_.side, 0), cube_.side, 0);
    Tensor loss =
        vocab_parallel_cross_entropy(logits, targets, *groups_.output, RowNumbers::on_device);
    loss = eager::mean(loss, 0, false);
    loss = mean_over_ranks(loss, {groups_.input, groups_.weight});
    return loss;
  }

 private:
  Cube cube_;
  CubeGroups groups_;
};

}  // namespace

std::unique_ptr<LayerMaker> make_cube_layers(nn::ModelContext& context) {
  return std::make_unique<CubeLayers>(context.runtime, context.plan.parallel);
}

}  // namespace highwater::colossalai
