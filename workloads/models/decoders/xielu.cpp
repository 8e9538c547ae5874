#include "workloads/models/decoders/xielu.hpp"

#include <utility>

namespace highwater::models {

using nn::Tensor;

namespace {

// The sum of two operands without names.
Tensor sum_of(Tensor left, Tensor right) {
  Tensor result = eager::add(left, right);
  eager::end_of_frame(left, right);
  return result;
}

}  // namespace

// ApertusMLP makes one in bf16 first, and replaces it by one of the model's type.
Xielu::Xielu(nn::Module* parent) : Module(parent, "act_fn") {
  const nn::InModule scope(*this);
  Numbers replaced = make_numbers(DType::bf16);
  numbers_ = make_numbers(context().dtype);
  eager::end_of_frame(replaced.alpha_p, replaced.alpha_n, replaced.beta, replaced.eps);
  for (const auto& [name, alpha] :
       {std::pair{"alpha_p", numbers_.alpha_p}, std::pair{"alpha_n", numbers_.alpha_n}}) {
    alpha->requires_grad = true;
    runtime().categorize(alpha, Category::parameter);
    register_parameter(name, alpha);
  }
  register_buffer("beta", numbers_.beta);
  register_buffer("eps", numbers_.eps);
}

Xielu::Numbers Xielu::make_numbers(DType type) const {
  Numbers made;
  made.alpha_p = make_alpha(type);
  made.alpha_n = make_alpha(type);
  made.beta = number({}, type);
  made.eps = number({}, type);
  return made;
}

Tensor Xielu::number(const nn::Dims& sizes, DType type) const {
  return eager::empty_on(runtime(), context().place, sizes, type);
}

// torch.log(torch.expm1(torch.tensor(number))).unsqueeze(0)
Tensor Xielu::make_alpha(DType type) const {
  Tensor first = number({}, type);
  const Tensor power = number({}, type);
  first.reset();
  return number({1}, type);
}

// alpha * x * x + beta * x
Tensor Xielu::above(const Tensor& x, const Tensor& alpha) const {
  Tensor line = eager::mul(alpha, x);
  Tensor square = eager::mul(line, x);
  line.reset();
  return sum_of(std::move(square), eager::mul(numbers_.beta, x));
}

// (expm1(min(x, eps)) - x) * alpha + beta * x
Tensor Xielu::below(const Tensor& x, const Tensor& alpha) const {
  Tensor bounded = eager::minimum(x, numbers_.eps);
  Tensor power = eager::expm1(bounded);
  bounded.reset();
  Tensor difference = eager::sub(power, x);
  power.reset();
  Tensor product = eager::mul(difference, alpha);
  difference.reset();
  return sum_of(std::move(product), eager::mul(numbers_.beta, x));
}

Tensor Xielu::operator()(const Tensor& x) const {
  const nn::InModule scope(*this);
  Tensor alpha_p = eager::softplus(numbers_.alpha_p);
  Tensor alpha_n;
  {
    const Tensor positive = eager::softplus(numbers_.alpha_n);
    alpha_n = eager::add(numbers_.beta, positive);
  }
  Tensor is_above = eager::compare("gt", {x});
  Tensor first = above(x, alpha_p);
  Tensor second = below(x, alpha_n);
  Tensor result = eager::where(is_above, first, second);
  eager::end_of_frame(is_above, first, second, alpha_p, alpha_n);
  return result;
}

}  // namespace highwater::models
