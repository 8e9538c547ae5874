#include "workloads/models/experts/experts.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "workloads/nn/layers.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::models {

namespace {

/// The variables that an expert's turn leaves bound.
struct ExpertFrame {
  Tensor gate;
  Tensor up;
  Tensor result;
};

// gate, up = F.linear(...).chunk(2): the old pair dies when the new one is bound.
void bind_halves(ExpertFrame& frame, Tensor projected) {
  auto halves = eager::chunk(projected, 2, -1);
  projected.reset();
  frame.gate = std::move(halves[0]);
  frame.up = std::move(halves[1]);
}

// F.linear(state, weights[expert]): the operand without a name dies before the result is bound.
Tensor project(Tensor state, const Tensor& weights, std::int64_t expert) {
  Tensor result = eager::linear(state, eager::select(weights, 0, expert), {});
  state.reset();
  return result;
}

// result * factor, which has no name either.
Tensor weighted(const Tensor& result, Tensor factor) {
  Tensor product = eager::mul(result, factor);
  factor.reset();
  return product;
}

Tensor gated(const nn::ActivationFunction& act_fn, const Tensor& gate, const Tensor& up) {
  const Tensor active = act_fn(gate);
  return eager::mul(active, up);
}

// torch.arange(...) % tokens
Tensor tokens_of(eager::Runtime& runtime, std::int64_t count) {
  const Tensor range = eager::arange(runtime, count);
  return eager::pointwise("remainder", {range}, DType::int64);
}

// _batched_linear: one matrix for each row.
Tensor batched_linear(const Tensor& input, const Tensor& weight) {
  return eager::squeeze(eager::bmm(weight, eager::unsqueeze(input, -1)), -1);
}

// Ids of absent experts are masked and clamped, whether experts are spread over ranks or not:
// before 5.18.
bool looks_for_absent_experts(const eager::Runtime& runtime) {
  return runtime.transformers < Release{5, 18};
}

/// Tokens in the order of their experts.
struct SortedTokens {
  Tensor experts;
  Tensor order;
  Tensor states;
  Tensor weights;
  Tensor counted;
  Tensor counts;
  Tensor ends;
  Tensor absent;
};

SortedTokens sorted_tokens(const Tensor& hidden, const Tensor& chosen, const Tensor& weights,
                           std::int64_t experts) {
  SortedTokens found;
  auto sorted = eager::sort(eager::reshape(chosen, {-1}));
  found.experts = std::move(sorted.values);
  found.order = std::move(sorted.indices);
  found.states =
      eager::index(hidden, eager::pointwise("floor_divide", {found.order}, DType::int64));
  found.weights = eager::index(eager::reshape(weights, {-1}), found.order);
  found.counted = eager::to_dtype(found.experts, DType::int32);
  found.counts = eager::histc(found.counted, experts);
  found.ends = eager::cumsum(found.counts, 0, DType::int32);
  if (looks_for_absent_experts(hidden.runtime())) {
    found.absent = eager::unsqueeze(eager::compare("ge", {found.experts}), -1);
  }
  return found;
}

// inv_perm[perm] = torch.arange(...)
Tensor inverse_order(const Tensor& order) {
  Tensor inverse = eager::empty_like(order);
  const Tensor numbers = eager::arange(order.runtime(), order.numel());
  return inverse;
}

Tensor zeros_like(const Tensor& self) {
  return eager::empty_like(self);
}

}  // namespace

std::vector<std::int64_t> tokens_of_experts(const TrainingPlan& plan, std::int64_t count,
                                            const Tensor& chosen) {
  return expert_counts(load_of_group(plan.moe_load, count, expert_data_group(plan.parallel).rank),
                       {.tokens = chosen.size(0), .experts = count, .top_k = chosen.size(1)});
}

std::int64_t experts_with_tokens(const std::vector<std::int64_t>& counts) {
  return std::ssize(counts) - std::ranges::count(counts, 0);
}

void add_to(const Tensor& total, const Tensor& tokens, const Tensor& result) {
  const Tensor narrow = eager::to_dtype(result, total.dtype());
  eager::index_add_(total, 0, tokens, narrow);
}

Tensor wide_product(const nn::ActivationFunction& act_fn, const Tensor& gate, const Tensor& up) {
  Tensor product;
  {
    Tensor active;
    {
      const Tensor wide = eager::to_dtype(gate, DType::fp32);
      active = act_fn(wide);
    }
    Tensor other = eager::to_dtype(up, DType::fp32);
    product = eager::mul(active, other);
    eager::end_of_frame(active, other);
  }
  return eager::to_dtype(product, gate.dtype());
}

Tensor MixtureOfExperts::gated_product(const Tensor& gate, const Tensor& up) const {
  return shape_.is_wide ? wide_product(act_fn_, gate, up) : gated(act_fn_, gate, up);
}

MixtureOfExperts::MixtureOfExperts(Module* parent, const ExpertsShape& shape)
    : Module(parent, "experts"), shape_(shape), act_fn_(this, "act_fn", shape.activation) {
  const nn::InModule scope(*this);
  gate_up_proj_ = make_parameter("gate_up_proj", {shape.count, 2 * shape.width, shape.hidden});
  down_proj_ = make_parameter("down_proj", {shape.count, shape.hidden, shape.width});
}

Tensor MixtureOfExperts::operator()(const Tensor& hidden_states, const Tensor& chosen,
                                    const Tensor& weights) const {
  const nn::InModule scope(*this);
  return call_with(eager::TensorList{hidden_states, chosen, weights},
                   [this](const eager::TensorList& in) {
                     switch (context().plan.experts) {
                       case Experts::eager:
                         return eager::TensorList{loop(in[0], in[1], in[2])};
                       case Experts::even:
                         return eager::TensorList{even_loop(in[0], in[1], in[2])};
                       case Experts::batched_mm:
                         return eager::TensorList{batched(in[0], in[1], in[2])};
                       case Experts::grouped_mm:
                         return eager::TensorList{grouped(in[0], in[1], in[2])};
                       case Experts::deepspeed:
                         break;  // which replaces the block
                     }
                     return eager::TensorList{loop(in[0], in[1], in[2])};
                   })[0];
}

std::vector<std::int64_t> MixtureOfExperts::counts(const Tensor& chosen) const {
  return tokens_of_experts(context().plan, shape_.count, chosen);
}

// The loop of the modelling file over the experts that were hit. Since 5.18 absent ones have a
// class of their own.
Tensor MixtureOfExperts::loop(const Tensor& hidden, const Tensor& chosen,
                              const Tensor& weights) const {
  Tensor total = zeros_like(hidden);
  Tensor expert_mask;
  Tensor expert_hit;
  const std::vector<std::int64_t> tokens = counts(chosen);
  const std::int64_t classes = shape_.count + (looks_for_absent_experts(runtime()) ? 0 : 1);
  {
    const eager::NoGrad no_grad(runtime());
    expert_mask = eager::permute(eager::one_hot(chosen, classes), {2, 1, 0});
    Tensor counts = eager::sum(expert_mask, {-1, -2}, eager::KeepDim::no);
    const Tensor is_hit = eager::compare("gt", {counts});
    counts.reset();
    expert_hit = eager::nonzero(is_hit, experts_with_tokens(tokens));
  }
  Tensor top_k_pos;
  Tensor token_idx;
  Tensor current_state;
  ExpertFrame frame;
  for (std::int64_t expert = 0, hit = 0; expert < shape_.count; ++expert) {
    const std::int64_t found = tokens[static_cast<std::size_t>(expert)];
    if (found == 0) {
      continue;
    }
    eager::compare("eq", {eager::select(eager::select(expert_hit, 0, hit++), 0, 0)});
    auto places = eager::where(eager::select(expert_mask, 0, expert), found);
    top_k_pos = std::move(places[0]);
    token_idx = std::move(places[1]);
    current_state = eager::index(hidden, token_idx);
    bind_halves(frame, project(current_state, gate_up_proj_, expert));
    frame.result = gated_product(frame.gate, frame.up);
    frame.result = project(frame.result, down_proj_, expert);
    frame.result =
        weighted(frame.result, eager::index(eager::unsqueeze(weights, 2), token_idx, top_k_pos));
    add_to(total, token_idx, frame.result);
  }
  eager::end_of_frame(expert_mask, expert_hit, top_k_pos, token_idx, current_state);
  eager::end_of_frame(frame.gate, frame.up, frame.result);
  return total;
}

// The recorder's loop: expert i gets the i-th part of all tokens.
Tensor MixtureOfExperts::even_loop(const Tensor& hidden, const Tensor& chosen,
                                   const Tensor& weights) const {
  const std::int64_t share = chosen.numel() / shape_.count;
  Tensor total = zeros_like(hidden);
  Tensor token;
  ExpertFrame frame;
  for (std::int64_t expert = 0; expert < shape_.count; ++expert) {
    token = tokens_of(runtime(), share);
    bind_halves(frame, project(eager::index(hidden, token), gate_up_proj_, expert));
    frame.result = project(gated_product(frame.gate, frame.up), down_proj_, expert);
    frame.result = weighted(
        frame.result,
        eager::index(eager::unsqueeze(eager::select(weights, 1, expert % chosen.size(1)), 1),
                     token));
    add_to(total, token, frame.result);
  }
  eager::end_of_frame(token, frame.gate, frame.up, frame.result);
  return total;
}

// batched_mm_experts_forward: the weights of every token's experts side by side.
Tensor MixtureOfExperts::batched(const Tensor& hidden, const Tensor& chosen,
                                 const Tensor& weights) const {
  Tensor selected_states = eager::repeat_interleave(hidden, chosen.size(1), 0);
  Tensor sample_weights = eager::reshape(weights, {-1});
  Tensor expert_ids = eager::reshape(chosen, {-1});
  if (looks_for_absent_experts(runtime())) {
    expert_ids = eager::pointwise("clamp", {expert_ids}, DType::int64);
  }
  Tensor selected = eager::index(gate_up_proj_, expert_ids);
  Tensor result = batched_linear(selected_states, selected);
  {
    auto halves = eager::chunk(result, 2, -1);
    result = gated_product(halves[0], halves[1]);
  }
  selected = eager::index(down_proj_, expert_ids);
  result = batched_linear(result, selected);
  Tensor scaled = eager::mul(result, eager::unsqueeze(sample_weights, -1));
  Tensor total = eager::sum(eager::view(scaled, {hidden.size(0), chosen.size(1), hidden.size(1)}),
                            {1}, eager::KeepDim::no);
  Tensor narrow = eager::to_dtype(total, hidden.dtype());
  eager::end_of_frame(selected_states, sample_weights, expert_ids, selected);
  eager::end_of_frame(result, scaled, total);
  return narrow;
}

// grouped_mm_experts_forward. In releases that look for absent experts their rows are zeroed in
// place before and after, which takes a copy of the gradient each time.
Tensor MixtureOfExperts::grouped(const Tensor& hidden, const Tensor& chosen,
                                 const Tensor& weights) const {
  SortedTokens tokens = sorted_tokens(hidden, chosen, weights, shape_.count);
  const std::int64_t filled = experts_with_tokens(counts(chosen));
  if (tokens.absent.defined()) {
    tokens.states = eager::masked_fill_(tokens.states, tokens.absent);
  }
  Tensor result = eager::grouped_mm(tokens.states, gate_up_proj_, tokens.ends, filled);
  {
    auto halves = eager::chunk(result, 2, -1);
    result = gated_product(halves[0], halves[1]);
  }
  result = eager::grouped_mm(result, down_proj_, tokens.ends, filled);
  Tensor scaled = eager::mul(result, eager::unsqueeze(tokens.weights, -1));
  if (tokens.absent.defined()) {
    scaled = eager::masked_fill_(scaled, tokens.absent);
  }
  Tensor inverse = inverse_order(tokens.order);
  scaled = eager::index(scaled, inverse);
  Tensor total = eager::sum(eager::view(scaled, {hidden.size(0), chosen.size(1), hidden.size(1)}),
                            {1}, eager::KeepDim::no);
  Tensor narrow = eager::to_dtype(total, hidden.dtype());
  eager::end_of_frame(tokens.experts, tokens.order, tokens.states, tokens.weights, tokens.counted);
  eager::end_of_frame(tokens.counts, tokens.ends, tokens.absent, result, scaled, inverse, total);
  return narrow;
}

}  // namespace highwater::models
