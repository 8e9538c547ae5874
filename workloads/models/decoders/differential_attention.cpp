#include "workloads/models/decoders/differential_attention.hpp"

#include <initializer_list>
#include <utility>

#include "workloads/eager/runtime.hpp"

namespace highwater::models {

namespace {

// A number on the host that needs a gradient, which is copied there and leaves nothing behind.
Tensor host_number(eager::Runtime& runtime, DType dtype) {
  const Tensor leaf = eager::empty_on(runtime, eager::Place::host, {}, dtype);
  leaf->requires_grad = true;
  const auto node = eager::begin_node(runtime, "ToCopyBackward0", {leaf});
  Tensor result = eager::empty_on(runtime, eager::Place::host, {}, dtype);
  eager::finish_node(node, result, [](eager::Node& own, eager::TensorList& grads) {
    own.runtime->synchronize();
    return eager::TensorList(grads.size());
  });
  return result;
}

}  // namespace

// torch.normal() heeds no torch.device(): a model that is made on the GPU has these on the host,
// and leaves them there.
DifferentialAttention::DifferentialAttention(Module* parent, std::int64_t layer,
                                             const LlamaConfig& config)
    : SelfAttention(parent, layer, config),
      has_host_shares_(context().place == eager::Place::cuda) {
  if (has_host_shares_) {
    return;
  }
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
  Tensor sum = eager::sum(product, {-1}, eager::KeepDim::no, DType::fp32);
  product.reset();
  Tensor power = eager::exp(sum);
  sum.reset();
  return eager::to_dtype(power, type);
}

// lambda_1 - lambda_2 + lambda_init; of shares on the host a number there, whose gradient is copied
// from the GPU.
DifferentialAttention::Shares DifferentialAttention::shares(DType type) const {
  if (has_host_shares_) {
    return {.whole = host_number(runtime(), type)};
  }
  Shares made{.first = share(query_shares_[0], key_shares_[0], type),
              .second = share(query_shares_[1], key_shares_[1], type)};
  const Tensor difference = eager::sub(made.first, made.second);
  made.whole = eager::add(difference, 0.8);
  return made;
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
  Shares own = shares(type);
  {
    Tensor taken = eager::mul(own.whole, second.output);
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
                   second.weights, own.first,    own.second,   own.whole};
  return {std::move(output), std::move(first.weights)};
}

}  // namespace highwater::models
