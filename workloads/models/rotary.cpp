#include "workloads/models/rotary.hpp"

#include <utility>

#include "workloads/eager/autocast.hpp"

namespace highwater::models {

namespace {

// transformers' releases from which the tables are made otherwise.
constexpr Release kFloatSteps{5, 15};   ///< arange(0, dim, 2, dtype=torch.float)
constexpr Release kElementwise{5, 19};  ///< positions * frequencies, no matrix product

// torch.polar(torch.ones_like(angles), angles) * attention_scaling
CosSin complex_table(Tensor angles) {
  Tensor table;
  {
    const Tensor ones = eager::empty_like(angles);
    table = eager::pointwise("polar", {ones, angles}, DType::complex64);
  }
  table = eager::mul(table, 1.0);
  angles.reset();
  return {.cos = std::move(table), .sin = {}};
}

Tensor scaled(Tensor wave) {
  return eager::mul(wave, 1.0);
}

/// The variables of the matrix product, which live until the tables are made.
struct Operands {
  Tensor frequencies;
  Tensor positions;
};

// inv_freq_expanded @ position_ids_expanded
Tensor angles_by_product(Operands& frame, const Tensor& inv_freq, const Tensor& position_ids) {
  frame.frequencies =
      eager::unsqueeze(eager::slice(eager::unsqueeze(inv_freq, 0), 1, 0, eager::kEnd), 2);
  frame.frequencies =
      eager::expand(eager::to_dtype(frame.frequencies, DType::fp32), {position_ids.size(0), -1, 1});
  frame.positions = eager::slice(eager::unsqueeze(eager::slice(position_ids, 0, 0, eager::kEnd), 1),
                                 2, 0, eager::kEnd);
  frame.positions = eager::to_dtype(frame.positions, DType::fp32);
  return eager::transpose(eager::matmul(frame.frequencies, frame.positions), 1, 2);
}

// position_ids[..., None].float() * inv_freq
Tensor angles_by_element(const Tensor& inv_freq, const Tensor& position_ids) {
  Tensor positions = eager::to_dtype(eager::unsqueeze(position_ids, -1), DType::fp32);
  Tensor frequencies = eager::to_dtype(inv_freq, DType::fp32);
  Tensor angles = eager::mul(positions, frequencies);
  eager::end_of_frame(positions, frequencies);
  return angles;
}

}  // namespace

RotaryEmbedding::RotaryEmbedding(Module* parent, std::int64_t rotary_dim, RopeType type,
                                 RotaryTables tables, std::string name)
    : Module(parent, std::move(name)),
      full_{.width = rotary_dim, .turned = rotary_dim, .type = type},
      windowed_(full_),
      tables_(tables) {
  make_buffers();
}

RotaryEmbedding::RotaryEmbedding(Module* parent, const RotaryKind& full, const RotaryKind& windowed)
    : Module(parent, "rotary_emb"),
      full_(full),
      windowed_(windowed),
      tables_(RotaryTables::per_kind) {
  make_buffers();
}

void RotaryEmbedding::make_buffers() {
  const nn::InModule scope(*this);
  inv_freq_ = inverse_frequencies(full_);
  register_buffer("inv_freq", inv_freq_);
  original_inv_freq_ = eager::clone(inv_freq_);
  register_buffer("original_inv_freq", original_inv_freq_);
  if (has_tables_per_kind(tables_)) {
    windowed_inv_freq_ = inverse_frequencies(windowed_);
    register_buffer("sliding_attention_inv_freq", windowed_inv_freq_);
    register_buffer("sliding_attention_original_inv_freq", eager::clone(windowed_inv_freq_));
  }
}

void RotaryEmbedding::initialize_again() const {
  const nn::InModule scope(*this);
  Tensor frequencies = inverse_frequencies(full_);
  if (has_tables_per_kind(tables_)) {  // the same name in a loop over the kinds
    frequencies = inverse_frequencies(windowed_);
  }
}

// 1 / base ** (arange(0, dim, 2).float() / dim); a power with a scalar base makes the base a
// tensor, a reciprocal replaces the division.
Tensor RotaryEmbedding::standard_frequencies(const RotaryKind& kind) const {
  const auto place = context().place;
  Tensor wide = even_numbers(kind);
  Tensor exponents = eager::empty_like(wide);
  wide.reset();
  Tensor powers = eager::empty_like(exponents);
  Tensor base = eager::empty_on(runtime(), place, {}, DType::int64);
  base.reset();
  exponents.reset();
  Tensor inverse = eager::empty_like(powers);
  Tensor result = eager::empty_like(inverse);
  eager::end_of_frame(inverse, powers);
  return result;
}

// torch.arange(0, dim, 2): integers that are converted, or numbers at once.
Tensor RotaryEmbedding::even_numbers(const RotaryKind& kind) const {
  const bool are_numbers = kind.type == RopeType::standard && runtime().transformers >= kFloatSteps;
  const Tensor integers = are_numbers ? Tensor{} : make(kind, DType::int64);
  return make(kind, DType::fp32);
}

Tensor RotaryEmbedding::inverse_frequencies(const RotaryKind& kind) const {
  switch (kind.type) {
    case RopeType::llama3:
      return llama3_frequencies(kind);
    case RopeType::proportional:
      return proportional_frequencies(kind);
    default:
      return standard_frequencies(kind);
  }
}

// modeling_rope_utils.py: _compute_proportional_rope_parameters.
Tensor RotaryEmbedding::proportional_frequencies(const RotaryKind& kind) const {
  Tensor rotated = standard_frequencies(kind);
  if (kind.turned == kind.width) {
    return rotated;
  }
  const auto vector = [this](std::int64_t size) {
    return eager::empty_on(runtime(), context().place, {size}, DType::fp32);
  };
  Tensor zeros = vector((kind.width - kind.turned) / 2);
  Tensor result = vector(kind.width / 2);
  eager::end_of_frame(zeros, rotated);
  return result;
}

Tensor RotaryEmbedding::make(const RotaryKind& kind, DType dtype) const {
  return eager::empty_on(runtime(), context().place, {(kind.turned + 1) / 2}, dtype);
}

// modeling_rope_utils.py: _compute_llama3_parameters, operator by operator; a number divided by a
// tensor is a reciprocal and a product.
Tensor RotaryEmbedding::llama3_frequencies(const RotaryKind& kind) const {
  const auto real = [this, &kind] { return make(kind, DType::fp32); };
  const auto boolean = [this, &kind] { return make(kind, DType::boolean); };
  Tensor inverse = standard_frequencies(kind);
  Tensor reciprocal = real();
  Tensor wavelength = real();
  reciprocal.reset();
  Tensor is_long = boolean();
  Tensor stretched = real();
  Tensor result = real();
  eager::end_of_frame(is_long, stretched);
  reciprocal = real();
  Tensor ratio = real();
  reciprocal.reset();
  Tensor difference = real();
  ratio.reset();
  Tensor smooth = real();
  difference.reset();
  Tensor rest = real();
  Tensor scaled_rest = real();
  rest.reset();
  Tensor divided = real();
  scaled_rest.reset();
  Tensor part = real();
  Tensor smoothed = real();
  eager::end_of_frame(divided, part);
  Tensor is_short = boolean();
  Tensor not_short = boolean();
  is_short.reset();
  is_long = boolean();
  Tensor not_long = boolean();
  is_long.reset();
  Tensor is_medium = boolean();
  eager::end_of_frame(not_short, not_long);
  result = real();
  eager::end_of_frame(inverse, wavelength, smooth, smoothed, is_medium);
  return result;
}

CosSin RotaryEmbedding::operator()(const Tensor& x, const Tensor& position_ids) const {
  return tables_of(x, position_ids, inv_freq_);
}

CosSin RotaryEmbedding::windowed(const Tensor& x, const Tensor& position_ids) const {
  return tables_of(x, position_ids, windowed_inv_freq_);
}

CosSin RotaryEmbedding::tables_of(const Tensor& x, const Tensor& position_ids,
                                  const Tensor& frequencies) const {
  const eager::NoGrad no_grad(runtime());  // around the call: no backward comes through it
  const nn::InModule scope(*this);
  eager::Scoped<bool> no_autocast(runtime().autocast.enabled, false);
  Operands frame;
  Tensor angles = runtime().transformers < kElementwise
                      ? angles_by_product(frame, frequencies, position_ids)
                      : angles_by_element(frequencies, position_ids);
  if (tables_ == RotaryTables::complex_numbers) {
    return complex_table(std::move(angles));
  }
  Tensor both = tables_ == RotaryTables::interleaved
                    ? eager::repeat_interleave(angles, 2, -1)
                    : eager::cat(std::initializer_list<Tensor>{angles, angles}, -1);
  Tensor cos = scaled(eager::cos(both));
  Tensor sin = scaled(eager::sin(both));
  const DType type = are_wide(tables_) ? DType::fp32 : x.dtype();
  CosSin result{eager::to_dtype(cos, type), eager::to_dtype(sin, type)};
  eager::end_of_frame(frame.frequencies, frame.positions, angles, both, cos, sin);
  return result;
}

Tensor rotate_half(const Tensor& x) {
  const auto half = x.size(-1) / 2;
  const Tensor first = eager::slice(x, -1, 0, half);
  const Tensor second = eager::slice(x, -1, half, eager::kEnd);
  Tensor negative = eager::neg(second);
  Tensor result = eager::cat(std::initializer_list<Tensor>{negative, first}, -1);
  return result;
}

Tensor apply_rotary(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor straight = eager::mul(x, cos);
  Tensor rotated = rotate_half(x);
  Tensor turned = eager::mul(rotated, sin);
  rotated.reset();
  Tensor result = eager::add(straight, turned);
  eager::end_of_frame(straight, turned);
  return result;
}

}  // namespace highwater::models
