#include "workloads/deepspeed/distributed_attention.hpp"

#include <utility>

#include "workloads/eager/node.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using eager::TensorList;

// pre_all2all_fun: [b, l, heads, d] to [N, b, l, heads / N, d], or [b, s, heads, d] to
// [N, b, s / N, heads, d].
Tensor DistributedAttention::split(const Tensor& input, Scattered scattered) const {
  const std::int64_t ranks = ranks_.size();
  const bool is_by_heads = scattered == Scattered::heads;
  const eager::Dims parts =
      is_by_heads
          ? eager::Dims{input.size(0), input.size(1), ranks, input.size(2) / ranks, input.size(3)}
          : eager::Dims{input.size(0), ranks, input.size(1) / ranks, input.size(2), input.size(3)};
  const eager::Dims order = is_by_heads ? eager::Dims{2, 0, 1, 3, 4} : eager::Dims{1, 0, 2, 3, 4};
  Tensor split = eager::contiguous(eager::reshape(input, parts));
  split = eager::contiguous(eager::permute(split, order));
  return split;
}

// post_func: [N, b, l, heads / N, d] to [b, s, heads / N, d], or [N, b, s / N, heads, d] to
// [b, s / N, N heads, d].
Tensor DistributedAttention::joined(const Tensor& output, Scattered scattered) {
  const bool is_by_heads = scattered == Scattered::heads;
  const eager::Dims order = is_by_heads ? eager::Dims{1, 0, 2, 3, 4} : eager::Dims{1, 2, 0, 3, 4};
  const Tensor ordered = eager::contiguous(eager::permute(output, order));
  const std::int64_t batch = ordered.size(0);
  return is_by_heads
             ? eager::reshape(ordered, {batch, ordered.size(1) * ordered.size(2), ordered.size(3),
                                        ordered.size(4)})
             : eager::reshape(ordered, {batch, ordered.size(1), ordered.size(2) * ordered.size(3),
                                        ordered.size(4)});
}

Tensor DistributedAttention::single_all_to_all(const Tensor& input, Scattered scattered) {
  eager::Runtime& runtime = input.runtime();
  const eager::NoGrad no_grad(runtime);
  const eager::OpScope op(runtime, "deepspeed::single_all_to_all");
  Tensor sent = split(input, scattered);
  Tensor output = eager::empty_like(sent);
  runtime.categorize_transient(output, Category::communication);
  ranks_.all_to_all_single(output, sent).wait();
  Tensor result = joined(output, scattered);
  eager::end_of_frame(sent, output);
  return result;
}

// _SeqAllToAll: its backward exchanges the other way round.
Tensor DistributedAttention::exchanged(const Tensor& input, Scattered scattered) {
  const auto node = eager::begin_node(input.runtime(), "_SeqAllToAllBackward", {input});
  Tensor result = single_all_to_all(input, scattered);
  const Scattered other = scattered == Scattered::heads ? Scattered::tokens : Scattered::heads;
  eager::finish_node(node, result, [this, other](eager::Node&, TensorList& grads) {
    return TensorList{single_all_to_all(grads[0], other)};
  });
  return result;
}

Tensor DistributedAttention::operator()(eager::AttentionOperands in,
                                        const eager::AttendHeads& attend) {
  for (Tensor* states : {&in.query, &in.key, &in.value}) {
    *states = eager::transpose(*states, 1, 2);
  }
  Tensor query = exchanged(in.query, Scattered::heads);
  Tensor key = exchanged(in.key, Scattered::heads);
  Tensor value = exchanged(in.value, Scattered::heads);
  Tensor context = attend({eager::transpose(query, 1, 2), eager::transpose(key, 1, 2),
                           eager::transpose(value, 1, 2)});  // [b, s, heads / N, d]
  Tensor output = exchanged(context, Scattered::tokens);
  eager::end_of_frame(in.query, in.key, in.value, query, key, value, context);
  return eager::reshape(output, {output.size(0), output.size(1), output.size(2) * output.size(3)});
}

}  // namespace highwater::deepspeed
