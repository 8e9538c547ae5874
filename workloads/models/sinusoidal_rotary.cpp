#include "workloads/models/sinusoidal_rotary.hpp"

namespace highwater::models {

namespace {

Tensor made(const nn::ModelContext& context, const eager::Dims& sizes, DType dtype) {
  return eager::empty_on(context.runtime, context.place, sizes, dtype);
}

// 1.0 / (10000 ** (arange(0, dim, 2) / dim)) in the default dtype.
Tensor inverse_frequencies(const nn::ModelContext& context, std::int64_t half) {
  Tensor steps = made(context, {half}, DType::int64);
  Tensor exponents = made(context, {half}, context.dtype);
  steps.reset();
  Tensor powers = made(context, {half}, context.dtype);
  Tensor base = made(context, {}, DType::int64);
  base.reset();
  exponents.reset();
  Tensor reciprocals = made(context, {half}, context.dtype);
  Tensor result = made(context, {half}, context.dtype);
  eager::end_of_frame(reciprocals, powers);
  return result;
}

// torch.repeat_interleave(table[:, :, None, :], 2, 3)
Tensor doubled(const Tensor& table) {
  return eager::repeat_interleave(eager::unsqueeze(table, 2), 2, 3);
}

Tensor rotate_every_two(const Tensor& x) {
  const Tensor even = slice_of_heads(x, 0, eager::kEnd, 2);
  const Tensor odd = slice_of_heads(x, 1, eager::kEnd, 2);
  const Tensor negative = eager::neg(odd);
  const Tensor pairs = eager::stack(std::initializer_list<Tensor>{negative, even}, -1);
  return eager::flatten(pairs, -2, -1);
}

}  // namespace

Tensor sinusoidal_positions(const nn::ModelContext& context, std::int64_t positions,
                            std::int64_t dim) {
  const std::int64_t half = (dim + 1) / 2;
  Tensor inverse = inverse_frequencies(context, half);
  Tensor numbers = made(context, {positions}, DType::int64);
  Tensor wide = made(context, {positions}, DType::fp32);
  numbers.reset();
  Tensor angles = made(context, {positions, half}, DType::fp32);
  wide.reset();
  Tensor sines = eager::empty_like(angles);
  Tensor cosines = eager::empty_like(angles);
  Tensor result = made(context, {positions, 2 * half}, DType::fp32);
  eager::end_of_frame(cosines, sines, inverse, angles);
  return result;
}

SinCos halves(const Tensor& sincos) {
  const auto parts = eager::split(sincos, sincos.size(-1) / 2, -1);
  return {parts[0], parts[1]};
}

SinusoidalTables::SinusoidalTables(Module* parent, std::int64_t positions, std::int64_t dim,
                                   SinusoidalType type)
    : Module(parent, "rotary_emb"), positions_(positions), dim_(dim), type_(type) {
  const nn::InModule scope(*this);
  embed_positions_ = sinusoidal_positions(context(), positions_, dim_);
  register_buffer("embed_positions", embed_positions_);
}

SinCos SinusoidalTables::operator()(const Tensor& x, const Tensor& position_ids) const {
  const nn::InModule scope(*this);
  Tensor sincos = eager::index(embed_positions_, position_ids);
  if (type_ == SinusoidalType::of_states) {
    sincos = eager::to_dtype(sincos, x.dtype());
  }
  return halves(sincos);
}

void SinusoidalTables::initialize_again() const {
  const nn::InModule scope(*this);
  static_cast<void>(sinusoidal_positions(context(), positions_, dim_));
}

Tensor apply_sinusoidal(const Tensor& states, const SinCos& tables) {
  Tensor sin = doubled(tables.sin);
  Tensor cos = doubled(tables.cos);
  Tensor straight = eager::mul(states, cos);
  Tensor rotated = rotate_every_two(states);
  Tensor turned = eager::mul(rotated, sin);
  rotated.reset();
  Tensor result = eager::add(straight, turned);
  eager::end_of_frame(straight, turned, sin, cos);
  return result;
}

Tensor slice_of_heads(const Tensor& states, std::int64_t start, std::int64_t end,
                      std::int64_t step) {
  Tensor part = states;
  for (const std::int64_t dim : {0, 1, 2}) {
    part = eager::slice(part, dim, 0, eager::kEnd);
  }
  const bool is_whole = start == 0 && end == part.size(3) && step == 1;
  return is_whole ? part : eager::slice(part, 3, start, end, step);
}

}  // namespace highwater::models
