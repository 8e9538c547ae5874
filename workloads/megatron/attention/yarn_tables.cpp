#include "workloads/megatron/attention/yarn_tables.hpp"

#include <array>
#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/megatron/attention/rotary.hpp"

namespace highwater::megatron {

using eager::Tensor;

YarnTables::YarnTables(nn::Module* parent, std::int64_t width)
    : Module(parent, "rotary_pos_emb"), width_(width) {
  constexpr std::int64_t kOriginalPositions = 4096;
  const nn::InModule scope(*this);
  inverse_extra_ = inverse_frequencies(runtime(), width_);
  inverse_inter_ = inverse_frequencies(runtime(), width_);
  inverse_ = inverse_frequencies(runtime(), width_);
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
