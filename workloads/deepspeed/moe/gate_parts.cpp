#include "workloads/deepspeed/moe/gate_parts.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/eager/node.hpp"
#include "workloads/plan/moe_load.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Runtime;
using eager::TensorList;

namespace {

constexpr double kMinCapacity = 4;  // of deepspeed.moe.layer.MoE

}  // namespace

std::int64_t expert_capacity(std::int64_t tokens, std::int64_t experts, double factor) {
  const double even = static_cast<double>(tokens) / static_cast<double>(experts);
  return static_cast<std::int64_t>(std::max(std::ceil(even * factor), kMinCapacity));
}

bool GateRun::drops() const {
  return plan.parallel.megatron.moe_capacity_factor.has_value();
}

std::int64_t GateRun::slots(std::int64_t tokens) const {
  if (const auto factor = plan.parallel.megatron.moe_capacity_factor) {
    return expert_capacity(tokens, shape.experts, *factor * static_cast<double>(shape.top_k));
  }
  const Routing routing{.tokens = tokens, .experts = shape.experts, .top_k = shape.top_k};
  return std::ranges::max(expert_counts(plan.moe_load, routing, ranks.size()));
}

Tensor number(Runtime& runtime, DType dtype) {
  return eager::empty(runtime, {}, dtype);
}

Tensor unary(const char* op, const Tensor& x) {
  return eager::pointwise(op, {x}, x.dtype());
}

Tensor places(const Tensor& mask) {
  const Tensor sums = eager::cumsum(mask, 0);
  return unary("sub", sums);
}

Tensor balance(const Tensor& me, Tensor& ce, const Tensor& mask) {
  {
    const Tensor wide = eager::to_dtype(mask, DType::fp32);
    ce = eager::mean(wide, 0, eager::KeepDim::no);
  }
  return eager::mul(me, ce);
}

Tensor clamped(const Tensor& x) {
  const auto node = eager::begin_node(x.runtime(), "ClampBackward1", {x});
  if (node) {
    node->save(x);
  }
  Tensor result = unary("clamp", x);
  eager::finish_node(node, result, [](eager::Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    const Tensor zero = number(*own.runtime);
    const Tensor inside = eager::compare("ge", {kept});
    return TensorList{eager::pointwise("where", {inside, grads[0]}, grads[0].dtype())};
  });
  return result;
}

Tensor largest_count(const Tensor& counts, dist::ProcessGroup& ranks) {
  Tensor largest = eager::reduce_plain("max", counts, {}, eager::KeepDim::no, DType::int64);
  if (ranks.size() > 1) {
    ranks.all_reduce(largest).wait();
  }
  Tensor part = eager::pointwise("div", {largest}, DType::fp32);
  Tensor whole = unary("ceil", part);
  part.reset();
  const Tensor scaled = unary("mul", whole);
  whole.reset();
  return eager::to_dtype(scaled, DType::int64);
}

}  // namespace highwater::deepspeed
