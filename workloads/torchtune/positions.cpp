#include "workloads/torchtune/positions.hpp"

#include <array>
#include <utility>

#include "workloads/plan/model/families/qwen2.hpp"

namespace highwater::torchtune {

using eager::Dims;
using eager::Tensor;

namespace {

/// An operand in pairs, [..., 2]: its members by number.
struct Pairs {
  const Tensor& of;

  [[nodiscard]] Tensor operator[](std::int64_t member) const {
    return eager::select(of, -1, member);
  }
};

Tensor real_part(const Pairs& x, const Pairs& table) {
  Tensor first = eager::mul(x[0], table[0]);
  Tensor second = eager::mul(x[1], table[1]);
  Tensor result = eager::sub(first, second);
  eager::end_of_frame(first, second);
  return result;
}

Tensor imaginary_part(const Pairs& x, const Pairs& table) {
  Tensor first = eager::mul(x[1], table[0]);
  Tensor second = eager::mul(x[0], table[1]);
  Tensor result = eager::add(first, second);
  eager::end_of_frame(first, second);
  return result;
}

// torch.stack of a list, which releases its last element first.
Tensor turned(const Tensor& pairs, const Tensor& table) {
  std::array<Tensor, 2> parts{real_part({pairs}, {table}), imaginary_part({pairs}, {table})};
  Tensor result = eager::stack(parts, -1);
  eager::end_of_frame(parts[1], parts[0]);
  return result;
}

}  // namespace

RotaryTable::RotaryTable(nn::Module* parent, const LlamaConfig& config)
    : Module(parent, "pos_embeddings"),
      positions_(config.max_position_embeddings),
      head_dim_(head_dim_of(config)),
      turns_halves_(config.code == &kQwen2Code) {
  const nn::InModule scope(*this);
  register_buffer("theta", theta(context().place));
  table_ = make_table(context().place);
  register_buffer("cache", table_);
}

void RotaryTable::make_again() {
  const nn::InModule scope(*this);
  own_buffers()[0].tensor = theta(eager::Place::cuda);
  table_ = make_table(eager::Place::cuda);
  own_buffers()[1].tensor = table_;
}

Tensor RotaryTable::theta(eager::Place place) const {
  Tensor theta = eager::empty_on(runtime(), place, {head_dim_ / 2}, DType::fp32);
  runtime().categorize(theta, Category::buffer);
  return theta;
}

// build_rope_cache.
Tensor RotaryTable::make_table(eager::Place place) const {
  const eager::OpScope op(runtime(), "build_rope_cache");
  const auto make = [&](const Dims& sizes) {
    return eager::empty_on(runtime(), place, sizes, DType::fp32);
  };
  Tensor seq_idx = make({positions_});
  Tensor idx_theta = make({positions_, head_dim_ / 2});
  Tensor table;
  if (turns_halves_) {
    const Tensor freqs = make({positions_, head_dim_});
    Tensor cos = make(freqs.sizes());
    Tensor sin = make(freqs.sizes());
    table = make({positions_, 2 * head_dim_});
    eager::end_of_frame(sin, cos, seq_idx, idx_theta);
  } else {
    Tensor cos = make(idx_theta.sizes());
    Tensor sin = make(idx_theta.sizes());
    table = make({positions_, head_dim_ / 2, 2});
    eager::end_of_frame(sin, cos, seq_idx, idx_theta);
  }
  runtime().categorize(table, Category::buffer);
  return table;
}

Tensor RotaryTable::rotate(Tensor x) const {
  const nn::InModule scope(*this);
  return turns_halves_ ? rotate_halves(std::move(x)) : rotate_pairs(std::move(x));
}

Tensor RotaryTable::rows_for(const Tensor& x) const {
  return eager::slice(table_, 0, 0, x.size(1));
}

Tensor RotaryTable::rotate_pairs(Tensor x) const {
  Dims pairs = x.sizes();
  pairs.back() /= 2;
  pairs.push_back(2);
  Tensor xshaped = eager::reshape(eager::to_dtype(x, DType::fp32), pairs);
  const Tensor table = eager::view(rows_for(x), {-1, x.size(1), 1, xshaped.size(3), 2});
  Tensor x_out = turned(xshaped, table);
  Tensor flat = eager::flatten(x_out, 3, 4);
  Tensor result = eager::type_as(flat, x);
  flat.reset();
  eager::end_of_frame(x, xshaped, x_out);
  return result;
}

Tensor RotaryTable::rotate_halves(Tensor x) const {
  const std::int64_t half = head_dim_ / 2;
  const Tensor table = eager::view(rows_for(x), {-1, x.size(1), 1, 2 * head_dim_});
  Tensor cos = eager::to_dtype(eager::slice(table, -1, 0, head_dim_), x.dtype());
  Tensor sin = eager::to_dtype(eager::slice(table, -1, head_dim_, eager::kEnd), x.dtype());
  Tensor x1 = eager::slice(x, -1, 0, half);
  Tensor x2 = eager::slice(x, -1, half, eager::kEnd);
  Tensor rotated;
  {
    const std::array<Tensor, 2> parts{eager::neg(x2), x1};
    rotated = eager::cat(parts, -1);
  }
  Tensor result;
  {
    Tensor first = eager::mul(x, cos);
    Tensor second = eager::mul(rotated, sin);
    result = eager::add(first, second);
    eager::end_of_frame(first, second);
  }
  eager::end_of_frame(x, cos, sin, x1, x2, rotated);
  return result;
}

}  // namespace highwater::torchtune
