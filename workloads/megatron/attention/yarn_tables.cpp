#include "workloads/megatron/attention/yarn_tables.hpp"

#include <array>
#include <utility>

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

using eager::Tensor;

YarnTables::YarnTables(nn::Module* parent, std::int64_t width)
    : Module(parent, "rotary_pos_emb"), width_(width) {
  constexpr std::int64_t kOriginalPositions = 4096;
  const nn::InModule scope(*this);
  inverse_extra_ = frequencies();
  inverse_inter_ = frequencies();
  inverse_ = frequencies();
  make_tables(kOriginalPositions, DType::fp32);
  embedding_.reset();  // forward.cache_clear()
}

YarnTables::CosSin YarnTables::tables(std::int64_t length, DType dtype) {
  if (length > length_ || dtype != dtype_) {
    make_tables(length, dtype);
  }
  return {eager::slice(own_buffers()[0].tensor, 0, 0, length),
          eager::slice(own_buffers()[1].tensor, 0, 0, length)};
}

// 1 / base ** (arange(0, width, 2) / width)
Tensor YarnTables::frequencies() {
  const auto make = [this](const char* op) {
    const eager::OpScope scope(runtime(), op);
    return eager::empty(runtime(), {width_ / 2}, DType::fp32);
  };
  Tensor range = make("arange");
  Tensor exponents = make("div");
  range.reset();
  Tensor powers;
  {
    powers = make("pow");
    const eager::OpScope scope(runtime(), "pow");
    const Tensor base = eager::empty(runtime(), {}, DType::int64);
  }
  exponents.reset();
  Tensor inverse = make("reciprocal");
  Tensor result = make("mul");
  inverse.reset();
  powers.reset();
  runtime().categorize(result, Category::buffer);
  return result;
}

// get_emb: [length, 1, 1, width].
Tensor YarnTables::embedding(std::int64_t length) {
  Tensor places;
  {
    const Tensor range = eager::arange(runtime(), length, DType::fp32);
    places = eager::add(range, 0.0);
  }
  Tensor angles = eager::mul(eager::unsqueeze(places, 1), inverse_extra_);
  const std::array twice{angles, angles};
  Tensor result = eager::cat(twice, -1);
  eager::end_of_frame(places, angles);
  return eager::unsqueeze(eager::unsqueeze(result, 1), 1);
}

// _set_cos_sin_cache: each table takes the place of the old one as soon as it is made.
void YarnTables::make_tables(std::int64_t length, DType dtype) {
  const eager::NoGrad no_grad(runtime());
  length_ = length;
  dtype_ = dtype;
  embedding_ = embedding(length);
  set_buffer(0, "cos_cached", eager::cos(embedding_));
  set_buffer(1, "sin_cached", eager::sin(embedding_));
}

void YarnTables::set_buffer(std::size_t place, const char* name, Tensor values) {
  Tensor table = eager::mul(values, 1.0);
  values.reset();
  table = eager::to_dtype(table, dtype_);
  if (place < own_buffers().size()) {
    own_buffers()[place].tensor = table;
  } else {
    register_buffer(name, table);
  }
}

}  // namespace highwater::megatron
