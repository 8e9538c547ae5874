#include "workloads/colossalai/layers/cube_product.hpp"

#include <utility>

namespace highwater::colossalai {

using eager::Node;

namespace {

Dims rows_of(const Tensor& x) {
  return {-1, x.size(-1)};
}

}  // namespace

Tensor CubeProduct::operator()(const Tensor& x, const Tensor& parameter) const {
  return apply_function(
      "_Linear3DBackward", {x, parameter},
      [&](FunctionContext& context) { return forward(context, x, parameter); },
      [this, key = parameter](Node& node, TensorList& grads) {
        return backward(node, grads[0], key);
      });
}

Tensor CubeProduct::oriented(const Tensor& weight) const {
  return layout_ == WeightLayout::in_out ? weight : eager::transpose(weight, 0, 1);
}

Tensor CubeProduct::forward(FunctionContext& context, const Tensor& x,
                            const Tensor& parameter) const {
  const Tensor input = all_gather(x, 0, *groups_.input);
  const Tensor weight = oriented(all_gather(parameter, 0, *groups_.weight));
  context.save_for_backward(input);
  context.save_for_backward(weight);
  const Tensor product = eager::matmul(input, weight);
  return eager::alias(reduce_scatter(product, 0, *groups_.output));
}

TensorList CubeProduct::backward(Node& node, const Tensor& part, const Tensor& parameter) const {
  Tensor input = node.unpack(0);
  Tensor weight = node.unpack(1);
  Tensor grad = all_gather(part, 0, *groups_.output);
  Tensor input_grad = eager::matmul(grad, eager::transpose(weight, 0, 1));
  Scattered input_part = start_reduce_scatter(input_grad, 0, *groups_.input);
  input_grad.reset();
  Tensor weight_grad = eager::matmul(eager::transpose(eager::reshape(input, rows_of(input)), 0, 1),
                                     eager::reshape(grad, rows_of(grad)));
  Scattered weight_part = start_reduce_scatter(oriented(weight_grad), 0, *groups_.weight);
  weight_grad.reset();
  Tensor zeros = cube_.pending.push(std::move(weight_part), parameter);
  input_part.work.wait();
  eager::end_of_frame(input, weight, grad);
  return {input_part.result, zeros};
}

}  // namespace highwater::colossalai
