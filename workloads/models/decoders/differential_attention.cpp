#include "workloads/models/decoders/differential_attention.hpp"

#include <initializer_list>
#include <utility>

namespace highwater::models {

DifferentialAttention::DifferentialAttention(Module* parent, std::int64_t layer,
                                             const LlamaConfig& config)
    : SelfAttention(parent, layer, config) {
  const nn::InModule scope(*this);
  const Dims sizes{head_dim_of(config)};
  query_shares_[0] = make_parameter("lambda_q1", sizes);
  key_shares_[0] = make_parameter("lambda_k1", sizes);
  query_shares_[1] = make_parameter("lambda_q2", sizes);
  key_shares_[1] = make_parameter("lambda_k2", sizes);
}

// exp(sum(queries * keys, dtype=fp32)).to(type)
Tensor DifferentialAttention::share(const Tensor& queries, const Tensor& keys, DType type) const {
  Tensor product = eager::mul(queries, keys);
  Tensor sum = eager::sum(product, {-1}, false, DType::fp32);
  product.reset();
  Tensor power = eager::exp(sum);
  sum.reset();
  return eager::to_dtype(power, type);
}

AttentionResult DifferentialAttention::attend(HeadStates& states, const Tensor& mask) const {
  const auto halves = eager::chunk(states.value, 2, 1);
  Tensor first_value = eager::repeat(halves[0], {1, 2, 1, 1});
  Tensor second_value = eager::repeat(halves[1], {1, 2, 1, 1});
  AttentionResult first = attend_to(states.query, states.key, first_value, mask);
  AttentionResult second = attend_to(states.query, states.key, second_value, mask);
  Tensor output = eager::cat(std::initializer_list<Tensor>{first.output, second.output}, -1);
  const auto parts = eager::chunk(output, 2, 2);
  first.output = parts[0];
  second.output = parts[1];
  const DType type = states.query.dtype();
  Tensor first_share = share(query_shares_[0], key_shares_[0], type);
  Tensor second_share = share(query_shares_[1], key_shares_[1], type);
  Tensor whole_share;
  {
    const Tensor difference = eager::sub(first_share, second_share);
    whole_share = eager::add(difference, 0.8);
  }
  {
    Tensor taken = eager::mul(whole_share, second.output);
    Tensor left = eager::sub(first.output, taken);
    taken.reset();
    output = std::move(left);
  }
  {
    Tensor normed = eager::rms_norm(output, {});
    Tensor scaled = eager::mul(normed, 0.2);
    normed.reset();
    output = std::move(scaled);
  }
  states.locals = {first_value,    second_value, first.output, second.output,
                   second.weights, first_share,  second_share, whole_share};
  return {std::move(output), std::move(first.weights)};
}

}  // namespace highwater::models
