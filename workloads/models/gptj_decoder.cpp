#include "workloads/models/gptj_decoder.hpp"

#include <utility>

namespace highwater::models {

PartlyRotated::PartlyRotated(const Tensor& states, std::int64_t rotary_dim)
    : rotated(slice_of_heads(states, 0, rotary_dim)),
      rest(slice_of_heads(states, rotary_dim, eager::kEnd)) {}

Tensor PartlyRotated::joined() const {
  return eager::cat(std::initializer_list<Tensor>{rotated, rest}, -1);
}

namespace {

AttentionResult attend(Tensor query, Tensor key, Tensor value, const Tensor& attention_mask,
                       const nn::Dropout& dropout, MaskOrder order) {
  query = eager::to_dtype(query, DType::fp32);
  key = eager::to_dtype(key, DType::fp32);
  Tensor weights = eager::matmul(query, eager::transpose(key, -1, -2));
  if (order == MaskOrder::after_scale) {
    weights = eager::div(weights, 1.0);
  }
  if (attention_mask.defined()) {
    weights = eager::add(weights, attention_mask);
  }
  if (order == MaskOrder::before_scale) {
    weights = eager::div(weights, 1.0);
  }
  weights = eager::softmax(weights, -1, std::nullopt);
  weights = eager::to_dtype(weights, value.dtype());
  weights = dropout(weights);
  Tensor output = eager::matmul(weights, value);
  eager::end_of_frame(query, key, value);
  return {std::move(output), std::move(weights)};
}

}  // namespace

AttentionResult gptj_attend(Tensor query, Tensor key, Tensor value, const Tensor& attention_mask,
                            const nn::Dropout& dropout, MaskOrder order) {
  return core_attention(dropout.context(),
                        {.query = std::move(query),
                         .key = std::move(key),
                         .value = std::move(value),
                         .mask = attention_mask},
                        [&dropout, order](AttentionCall call) {
                          return attend(std::move(call.query), std::move(call.key),
                                        std::move(call.value), call.mask, dropout, order);
                        });
}

Tensor gptj_merge_heads(const Tensor& states) {
  const Tensor rows = eager::contiguous(eager::permute(states, {0, 2, 1, 3}));
  return eager::view(rows, {rows.size(0), rows.size(1), rows.size(2) * rows.size(3)});
}

}  // namespace highwater::models
