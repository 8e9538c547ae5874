#include "workloads/megatron/attention/rotary.hpp"

#include <array>

namespace highwater::megatron {
namespace {

using eager::Tensor;

// (torch.cos(freqs) * mscale).to(t.dtype)
Tensor table(Tensor angles, DType dtype) {
  angles = eager::mul(angles, 1.0);
  return eager::to_dtype(angles, dtype);
}

Tensor rotate_half(const Tensor& states) {
  const eager::TensorList halves = eager::chunk(states, 2, -1);
  const std::array turned{eager::neg(halves[1]), halves[0]};
  return eager::cat(turned, -1);
}

Tensor rotated(const Tensor& states, const Tensor& cosines, const Tensor& sines) {
  Tensor straight = eager::mul(states, cosines);
  Tensor turned = eager::mul(rotate_half(states), sines);
  Tensor sum = eager::add(straight, turned);
  eager::end_of_frame(straight, turned);
  return sum;
}

}  // namespace

Tensor inverse_frequencies(eager::Runtime& runtime, std::int64_t width) {
  const auto make = [&](const char* op) {
    const eager::OpScope scope(runtime, op);
    return eager::empty(runtime, {width / 2}, DType::fp32);
  };
  Tensor range = make("arange");
  Tensor exponents = make("div");
  range.reset();
  Tensor powers;
  {
    powers = make("pow");
    const eager::OpScope scope(runtime, "pow");
    const Tensor base = eager::empty(runtime, {}, DType::int64);
  }
  exponents.reset();
  Tensor inverse = make("reciprocal");
  Tensor result = make("mul");
  inverse.reset();
  powers.reset();
  runtime.categorize(result, Category::buffer);
  return result;
}

// The embedding covers all channels, so nothing is left to pass on; it is concatenated anyway.
Tensor composed_rotary(Tensor states, const Tensor& frequencies) {
  const std::int64_t width = frequencies.size(-1);
  Tensor passed = eager::slice(states, -1, width, eager::kEnd);
  states = eager::slice(states, -1, 0, width);
  Tensor cosines = table(eager::cos(frequencies), states.dtype());
  Tensor sines = table(eager::sin(frequencies), states.dtype());
  states = rotated(states, cosines, sines);
  const std::array parts{states, passed};
  Tensor result = eager::cat(parts, -1);
  eager::end_of_frame(states, passed, cosines, sines);
  return result;
}

}  // namespace highwater::megatron
