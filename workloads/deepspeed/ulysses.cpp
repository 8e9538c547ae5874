#include "workloads/deepspeed/ulysses.hpp"

#include <utility>

#include "workloads/eager/node.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using eager::TensorList;

namespace {

// deepspeed::dim_zero_all_to_all, the operator itself.
Tensor all_to_all(const Tensor& x, dist::ProcessGroup& ranks) {
  const eager::OpScope op(x.runtime(), "deepspeed::dim_zero_all_to_all");
  Tensor output = eager::empty_like(x);
  x.runtime().categorize_transient(output, Category::communication);
  ranks.all_to_all_single(output, x).wait();
  return output;
}

// "... a b c ..." of the first two or three dimensions, in another order
Tensor first_two_swapped(const Tensor& x) {
  return eager::transpose(x, 0, 1);
}

}  // namespace

Tensor Ulysses::exchanged(const Tensor& x) {
  const auto node =
      eager::begin_node(x.runtime(), "GeneratedBackwardFor_deepspeed_dim_zero_all_to_all", {x});
  Tensor result;
  {
    const eager::NoGrad no_grad(x.runtime());
    result = all_to_all(x, ranks_);
  }
  eager::finish_node(node, result, [this](eager::Node&, TensorList& grads) {
    const Tensor grad = eager::contiguous(grads[0]);
    return TensorList{all_to_all(grad, ranks_)};
  });
  return result;
}

// combine_sequence: [s / N, b, heads, d] in, [s, b, heads / N, d] out; fewer heads than ranks are
// repeated first.
Tensor Ulysses::heads_of_rank(const Tensor& states) {
  Tensor input = states;
  const std::int64_t ranks = ranks_.size();
  if (input.size(2) < ranks) {
    input = eager::repeat_interleave(input, ranks / input.size(2), 2);
  }
  input = eager::reshape(
      input, {input.size(0), input.size(1), ranks, input.size(2) / ranks, input.size(3)});
  input = eager::contiguous(eager::permute(input, {2, 0, 1, 3, 4}));
  Tensor output = exchanged(input);
  output = eager::reshape(output, {-1, output.size(2), output.size(3), output.size(4)});
  input.reset();
  return output;
}

// _partition_global_sequence: [s, b, heads d / N] in, [s / N, b, heads d] out.
Tensor Ulysses::tokens_of_rank(Tensor input) {
  const std::int64_t ranks = ranks_.size();
  input = eager::contiguous(
      eager::reshape(input, {ranks, input.size(0) / ranks, input.size(1), input.size(2)}));
  Tensor output = exchanged(input);
  output = eager::permute(output, {1, 2, 0, 3});
  output = eager::contiguous(
      eager::reshape(output, {output.size(0), output.size(1), output.size(2) * output.size(3)}));
  input.reset();
  return output;
}

Tensor Ulysses::operator()(eager::AttentionOperands in, const eager::AttendHeads& attend) {
  eager::Runtime& runtime = in.query.runtime();
  const std::int64_t batch = in.query.size(0);
  const std::int64_t length = in.query.size(2);
  for (Tensor* states : {&in.query, &in.key, &in.value}) {
    *states = eager::permute(*states, {2, 0, 1, 3});
  }
  TensorList gathered;
  for (int i = 0; i < ranks_.size(); ++i) {
    gathered.push_back(eager::empty(runtime, {batch, length}, DType::int64));
  }
  Tensor positions = eager::cat(gathered, 1);
  Tensor query = heads_of_rank(in.query);
  Tensor key = heads_of_rank(in.key);
  Tensor value = heads_of_rank(in.value);
  for (Tensor* states : {&query, &key, &value}) {
    *states = eager::contiguous(eager::permute(*states, {1, 2, 0, 3}));
  }
  Tensor context = attend({query, key, value});  // [b, s, heads / N, d]
  context = first_two_swapped(context);
  context = eager::reshape(context, {context.size(0), batch, context.size(2) * context.size(3)});
  Tensor output = tokens_of_rank(context);
  output = first_two_swapped(output);
  eager::end_of_frame(in.query, in.key, in.value, positions);
  eager::release_list(gathered);
  eager::end_of_frame(query, key, value, context);
  return output;
}

}  // namespace highwater::deepspeed
