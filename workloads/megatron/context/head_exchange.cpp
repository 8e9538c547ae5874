#include "workloads/megatron/context/head_exchange.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/context/context_parallel.hpp"

namespace highwater::megatron {

using eager::Dims;
using eager::Node;
using eager::Scoped;
using eager::Tensor;
using eager::TensorList;

/// flash_attn_a2a_communicate: a pipeline of three stages over a list of tensors.
class HeadExchange {
 public:
  explicit HeadExchange(ContextParallelGroup& cp) : cp_(cp), runtime_(cp.group().runtime()) {}

  /// [b, s / cp, heads, d] to [b, s, heads / cp, d].
  TensorList before(TensorList inputs) {
    cp_.make_chunk_ids(cp_.ids_before_);
    TensorList outputs(inputs.size());
    for (std::size_t i = 0; i < inputs.size() + 2; ++i) {
      receive(i, inputs, outputs);
      if (i > 1) {
        rearrange(outputs[i - 2], gathered(outputs[i - 2].sizes()));
      }
      if (i < inputs.size()) {
        inputs[i] = block("contiguous", inputs[i].sizes(), inputs[i].dtype());
      }
    }
    eager::release_list(inputs);
    return outputs;
  }

  /// The other way; results are [b * s / cp, heads, d].
  TensorList after(TensorList inputs) {
    cp_.make_chunk_ids(cp_.ids_after_);
    TensorList outputs(inputs.size());
    for (std::size_t i = 0; i < inputs.size() + 2; ++i) {
      receive(i, inputs, outputs);
      if (i < inputs.size()) {
        inputs[i] = block("reorder_seq_chunks", inputs[i].sizes(), inputs[i].dtype());
      }
      if (i > 1) {
        rearrange(outputs[i - 2], returned(outputs[i - 2].sizes()));
      }
    }
    eager::release_list(inputs);
    return outputs;
  }

 private:
  Tensor block(const char* op, const Dims& sizes, DType dtype) {
    const eager::OpScope scope(runtime_, op);
    return eager::empty(runtime_, sizes, dtype);
  }

  void receive(std::size_t i, const TensorList& inputs, TensorList& outputs) {
    if (i == 0 || i > inputs.size()) {
      return;
    }
    const Tensor& input = inputs[i - 1];
    outputs[i - 1] = block("all_to_all", input.sizes(), input.dtype());
    runtime_.categorize(outputs[i - 1], Category::communication);
    cp_.group().all_to_all_single(outputs[i - 1], input).wait();
  }

  void rearrange(Tensor& tensor, const Dims& sizes) {
    const Scoped<StreamId> on(runtime_.stream, cp_.stream_of(1));
    Tensor ordered = block("reorder_seq_chunks", sizes, tensor.dtype());
    std::swap(tensor, ordered);
  }

  [[nodiscard]] Dims gathered(const Dims& sizes) const {
    return {sizes[0], sizes[1] * cp_.size(), sizes[2] / cp_.size(), sizes[3]};
  }

  [[nodiscard]] Dims returned(const Dims& sizes) const {
    return {sizes[0] * sizes[1] / cp_.size(), sizes[2] * cp_.size(), sizes[3]};
  }

  ContextParallelGroup& cp_;
  eager::Runtime& runtime_;
};

namespace {

/// AttnFuncWithCPAndQKVOA2A.backward.
struct ExchangeBackward {
  ContextParallelGroup* cp;

  TensorList operator()(Node& node, TensorList& grads) const {
    const Tensor query = node.unpack(0);
    const Tensor key = node.unpack(1);
    const Tensor value = node.unpack(2);
    HeadExchange exchange(*cp);
    TensorList of_result = exchange.before(sent(node.unpack(3), grads[0], query));
    TensorList of_input;
    for (const Tensor* operand : {&query, &key, &value}) {
      of_input.push_back(eager::empty_like(*operand));
    }
    const std::int64_t length = query.size(1);
    flash_step_backward(query, key, {.query = length, .key = length});
    TensorList result = exchange.after(of_input);
    for (std::size_t i = 0; i < result.size(); ++i) {
      of_input[i] = with_batch(result[i], query);
    }
    for (Tensor& tensor : of_result) {
      tensor.reset();
    }
    return of_input;
  }

 private:
  [[nodiscard]] TensorList sent(const Tensor& saved, const Tensor& gradient,
                                const Tensor& query) const {
    if (cp->keeps_result_of_heads()) {
      return {with_batch(gradient, query)};
    }
    return {with_batch(saved, query), with_batch(gradient, query)};
  }

  static Tensor with_batch(const Tensor& flat, const Tensor& query) {
    const std::int64_t batch = query.size(0);
    Tensor view = eager::alias(flat);
    view->sizes = {batch, flat.size(0) / batch, flat.size(1), flat.size(2)};
    view->strides = eager::contiguous_strides(view->sizes);
    return view;
  }
};

}  // namespace

void ContextParallelGroup::make_chunk_ids(Tensor& ids) {
  if (!ids.defined()) {
    ids = eager::empty(group_.runtime(), {std::int64_t{2} * size()}, DType::int32);
    group_.runtime().categorize(ids, Category::buffer);
  }
}

Tensor exchange_attention(ContextParallelGroup& cp, const FlashOperands& in) {
  eager::Runtime& runtime = in.query.runtime();
  const auto node =
      eager::begin_node(runtime, "AttnFuncWithCPAndQKVOA2ABackward", {in.query, in.key, in.value});
  TensorList operands;
  FlashStep step;
  Tensor out;
  {
    const eager::NoGrad no_grad(runtime);
    HeadExchange exchange(cp);
    operands = exchange.before({in.query, in.key, in.value});
    const std::int64_t length = operands[0].size(1);
    step = flash_step(operands[0], operands[1], {.query = length, .key = length}, in.dropout);
    out = exchange.after({step.out})[0];
  }
  eager::finish_node(node, out, ExchangeBackward{&cp});
  if (node) {
    for (const Tensor& operand : operands) {
      node->save(operand);
    }
    if (cp.keeps_result_of_heads()) {
      node->save(step.out);
    } else {
      node->save_output(out);
    }
    node->save(step.logsumexp);
    node->save(step.rng_state);
  }
  return out;
}

}  // namespace highwater::megatron
