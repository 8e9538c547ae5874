#include "workloads/deepspeed/moe/gates.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "workloads/deepspeed/moe/gate_parts.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Dims;
using eager::Runtime;
using eager::TensorList;

namespace {

// constraints.py: a comparison, and whether all of it holds, which the host reads.
void validate_bounds(Runtime& runtime) {
  Tensor below = number(runtime, DType::boolean);
  number(runtime, DType::boolean);
  const Tensor same = number(runtime, DType::boolean);
  below.reset();
  number(runtime, DType::boolean);
}

// Uniform.rsample: low + rand * (high - low)
Tensor uniform_sample(Runtime& runtime, const Dims& sizes) {
  Tensor rand = eager::empty(runtime, sizes, DType::fp32);
  Tensor scaled;
  {
    const Tensor width = number(runtime);
    scaled = eager::empty(runtime, sizes, DType::fp32);
  }
  Tensor result = eager::empty(runtime, sizes, DType::fp32);
  eager::end_of_frame(scaled, rand);
  return result;
}

Tensor affine(const Tensor& x) {
  const Tensor scaled = unary("mul", x);
  return unary("add", scaled);
}

std::vector<Tensor> make_gumbel(Runtime& runtime) {
  std::vector<Tensor> kept;
  for (int i = 0; i < 4; ++i) {  // 1, 0, the bounds of its uniform distribution
    kept.push_back(number(runtime));
  }
  validate_bounds(runtime);
  {
    const Tensor ones = number(runtime);
    kept.push_back(number(runtime));
  }
  kept.push_back(number(runtime));
  validate_bounds(runtime);
  return kept;
}

std::vector<Tensor> make_uniform(Runtime& runtime) {
  std::vector<Tensor> bounds{number(runtime), number(runtime)};
  validate_bounds(runtime);
  return bounds;
}

Tensor gumbel_sample(Runtime& runtime, const Dims& sizes, GateDistributions& distributions) {
  if (distributions.gumbel.empty()) {
    distributions.gumbel = make_gumbel(runtime);
  }
  Tensor x = uniform_sample(runtime, sizes);
  for (int i = 0; i < 2; ++i) {
    x = unary("log", x);
    x = affine(x);
  }
  return x;
}

Tensor selection_sample(Runtime& runtime, const Dims& sizes, GateDistributions& distributions) {
  if (distributions.selection.empty()) {
    distributions.selection = make_uniform(runtime);
  }
  return uniform_sample(runtime, sizes);
}

// multiplicative_jitter
Tensor jittered(const Tensor& x, GateDistributions& distributions) {
  if (distributions.jitter.empty()) {
    distributions.jitter = make_uniform(x.runtime());
  }
  return eager::mul(x, uniform_sample(x.runtime(), x.sizes()));
}

Tensor largest(const Tensor& x) {
  return eager::reduce_plain("argmax", x, {1}, eager::KeepDim::no, DType::int64);
}

Tensor own_places(const Tensor& locations, const Tensor& mask) {
  const Tensor masked = eager::pointwise("mul", {locations, mask}, DType::int64);
  return eager::sum(masked, {1}, eager::KeepDim::no);
}

// einsum("se,se->s"): a view of a batched product
struct RowProducts {
  Tensor base;
  Tensor view;
};

RowProducts row_products(const Tensor& gates, const Tensor& mask) {
  const std::int64_t rows = gates.size(0);
  const Tensor base =
      eager::bmm(eager::view(gates, {rows, 1, -1}), eager::view(mask, {rows, -1, 1}));
  return {base, eager::view(base, {rows})};
}

// view /= total. Autograd has the gradient of the view as strided, copies it for the view's base
// and once more for the division (torch/csrc/autograd/functions/tensor.cpp: CopySlices).
TensorList divided_backward(eager::Node& own, TensorList& grads) {
  const Tensor old = own.unpack(0);
  const Tensor total = own.unpack(1);
  TensorList out(2);
  Tensor strided = eager::empty_like(grads[0]);
  grads[0].reset();
  out[0] = eager::empty(*own.runtime, {strided.numel(), 1, 1}, strided.dtype());
  Tensor part = eager::empty_like(strided);
  {
    Tensor ratio = eager::pointwise("div", {old, total}, total.dtype());
    Tensor second = eager::pointwise("div", {ratio, total}, total.dtype());
    Tensor negative = unary("neg", part);
    out[1] = eager::pointwise("mul", {negative, second}, total.dtype());
    eager::end_of_frame(negative, second, ratio);
  }
  Tensor own_part = eager::pointwise("div", {part, total}, total.dtype());
  eager::end_of_frame(part, own_part, strided);
  return out;
}

void divide_view(RowProducts& products, const Tensor& total) {
  const Tensor& view = products.view;
  const auto node = eager::begin_node(view.runtime(), "CopySlices", {products.base, total});
  if (node) {
    const eager::NoGrad no_grad(view.runtime());
    node->save(eager::clone(view));
    node->save(total);
    view->requires_grad = false;
    view->output_nr = 0;
  }
  eager::finish_node(node, view, divided_backward);
  products.base.reset();
}

// torch.where(mask.any(dim=1), indices, -1)
Tensor kept_indices(const Tensor& mask, const Tensor& indices) {
  Tensor any = eager::reduce_plain("any", mask, {1}, eager::KeepDim::no, DType::boolean);
  Tensor absent = eager::empty_like(indices);
  Tensor result = eager::pointwise("where", {any, indices, absent}, DType::int64);
  eager::end_of_frame(any, absent);
  return result;
}

Tensor stacked_int32(const Tensor& a, const Tensor& b) {
  const std::array both{a, b};
  const Tensor whole = eager::stack(both, 0);
  return eager::to_dtype(whole, DType::int32);
}

// min(capacity, torch.tensor(tokens).to(device)), of which the host asks which is less
void compare_with_tokens(Runtime& runtime) {
  const Tensor tokens = number(runtime, DType::int64);
  number(runtime, DType::boolean);
}

Routes top1_gating(const GateRun& run, const Tensor& logits) {
  Runtime& runtime = logits.runtime();
  const std::int64_t experts = run.shape.experts;
  Routes routes;
  routes.slots_of_expert = run.slots(logits.size(0));
  Tensor noisy;
  if (run.plan.deepspeed_moe.noise == GateNoise::rsample) {
    const Tensor noise = gumbel_sample(runtime, logits.sizes(), run.distributions);
    noisy = eager::add(logits, noise);
  }
  Tensor gates = eager::softmax(logits, 1, std::nullopt);
  Tensor indices = largest(noisy.defined() ? noisy : gates);
  Tensor mask = eager::one_hot(indices, experts);
  routes.counts = eager::sum(mask, {0}, eager::KeepDim::no);
  if (!run.drops()) {
    routes.capacity = largest_count(routes.counts, run.ranks);
    compare_with_tokens(runtime);
  }
  Tensor me = eager::mean(gates, 0, eager::KeepDim::no);
  Tensor ce;
  {
    Tensor terms = balance(me, ce, mask);
    const Tensor total = eager::sum(terms, {}, eager::KeepDim::no);
    terms.reset();
    routes.loss = eager::mul(total, 1.0);
  }
  Tensor random;
  {
    const Tensor uniform = selection_sample(runtime, mask.sizes(), run.distributions);
    random = eager::pointwise("mul", {mask, uniform}, DType::fp32);
  }
  if (!run.drops()) {
    compare_with_tokens(runtime);
  }
  const std::int64_t chosen = std::min(routes.slots_of_expert, mask.size(0));
  Tensor top = eager::topk(random, chosen, 0).indices;
  {
    Tensor selected = eager::empty_like(mask);
    Tensor kept = eager::pointwise("mul", {mask, selected}, DType::int64);
    selected.reset();
    mask = std::move(kept);
  }
  Tensor marks;
  {
    Tensor sums = eager::sum(mask, {1}, eager::KeepDim::no);
    const Tensor scaled = unary("mul", sums);
    sums.reset();
    marks = unary("sub", scaled);
  }
  indices = eager::pointwise("min", {indices, marks}, DType::int64);
  Tensor locations = places(mask);
  Tensor weights;
  {
    const Tensor masked = eager::mul(gates, mask);
    weights = eager::sum(masked, {1}, eager::KeepDim::no);
  }
  Tensor own = own_places(locations, mask);
  routes.experts = eager::unsqueeze(eager::to_dtype(indices, DType::int32), 0);
  routes.slots = eager::unsqueeze(eager::to_dtype(own, DType::int32), 0);
  routes.weights = eager::unsqueeze(weights, 0);
  eager::end_of_frame(noisy, gates, indices, me, ce, random, top, marks, mask, locations, weights,
                      own);
  return routes;
}

Routes top2_gating(const GateRun& run, const Tensor& logits) {
  Runtime& runtime = logits.runtime();
  const std::int64_t experts = run.shape.experts;
  Routes routes;
  routes.slots_of_expert = run.slots(logits.size(0));
  Tensor gates = eager::softmax(logits, 1, std::nullopt);
  Tensor first = largest(gates);
  Tensor mask1 = eager::one_hot(first, experts);
  {
    const Tensor noise = gumbel_sample(runtime, logits.sizes(), run.distributions);
    eager::add_(logits, noise);
  }
  Tensor others = eager::masked_fill(logits, eager::to_dtype(mask1, DType::boolean));
  Tensor second = largest(others);
  Tensor mask2 = eager::one_hot(second, experts);
  Tensor locations1 = places(mask1);
  Tensor locations2 = places(mask2);
  eager::sum(mask1, {0}, eager::KeepDim::yes);
  Tensor me = eager::mean(gates, 0, eager::KeepDim::no);
  Tensor ce;
  {
    Tensor terms = balance(me, ce, mask1);
    Tensor mean = eager::mean(terms, 0, eager::KeepDim::no);
    terms.reset();
    const Tensor scaled = eager::mul(mean, 1.0);
    mean.reset();
    routes.loss = eager::mul(scaled, 1.0);
  }
  {
    const Tensor both = eager::pointwise("add", {mask1, mask2}, DType::int64);
    routes.counts = eager::sum(both, {0}, eager::KeepDim::no);
  }
  if (run.drops()) {
    eager::compare("lt", {locations1});
    eager::compare("lt", {locations2});
  } else {
    routes.capacity = largest_count(routes.counts, run.ranks);
  }
  Tensor own1 = own_places(locations1, mask1);
  Tensor own2 = own_places(locations2, mask2);
  Tensor float1 = eager::to_dtype(mask1, DType::fp32);
  Tensor float2 = eager::to_dtype(mask2, DType::fp32);
  RowProducts gates1 = row_products(gates, float1);
  RowProducts gates2 = row_products(gates, float2);
  Tensor total = eager::add(gates1.view, gates2.view);
  total = clamped(total);
  divide_view(gates1, total);
  divide_view(gates2, total);
  first = kept_indices(mask1, first);
  second = kept_indices(mask2, second);
  routes.experts = stacked_int32(first, second);
  routes.slots = stacked_int32(own1, own2);
  std::array weights{gates1.view, gates2.view};
  routes.weights = eager::stack(weights, 0);
  eager::end_of_frame(weights[0], weights[1]);
  eager::end_of_frame(gates, first, mask1, others, second, mask2, locations1, locations2, me, ce,
                      own1, own2, float1, float2);
  eager::end_of_frame(gates1.view, gates2.view, total);
  return routes;
}

Routes routed(const GateRun& run, const Tensor& logits) {
  switch (run.shape.top_k) {
    case 1:
      return top1_gating(run, logits);
    case 2:
      return top2_gating(run, logits);
    default:
      return top_k_gating(run, logits);
  }
}

}  // namespace

TopKGate::TopKGate(Module* parent, const GateShape& shape, GateDistributions& distributions,
                   dist::ProcessGroup& ranks)
    : Module(parent, "gate"),
      shape_(shape),
      distributions_(distributions),
      ranks_(ranks),
      wg_(this, "wg", shape.hidden, shape.experts, nn::Bias::none) {}

Routes TopKGate::operator()(const Tensor& tokens) const {
  const nn::InModule scope(*this);
  Tensor wide = eager::to_dtype(tokens, DType::fp32);
  if (context().plan.deepspeed_moe.noise == GateNoise::jitter) {
    wide = jittered(wide, distributions_);
  }
  Tensor logits;
  {
    const Tensor weight = eager::to_dtype(wg_.weight, DType::fp32);
    logits = eager::linear(wide, weight, {});
  }
  Routes routes = routed({context().plan, shape_, distributions_, ranks_}, logits);
  eager::end_of_frame(wide, logits);
  return routes;
}

}  // namespace highwater::deepspeed
