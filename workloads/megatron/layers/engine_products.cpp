#include "workloads/megatron/layers/engine_products.hpp"

#include <utility>

#include "workloads/megatron/transformer_engine/products.hpp"

namespace highwater::megatron {

Tensor result_block(const Tensor& input, const Tensor& weight) {
  Dims sizes = input.sizes();
  sizes.back() = weight.size(0);
  return product_block(input.runtime(), sizes, input.dtype());
}

Tensor input_gradient(const Tensor& grad_output, const Tensor& weight) {
  Dims sizes = grad_output.sizes();
  sizes.back() = weight.size(1);
  return product_block(grad_output.runtime(), sizes, grad_output.dtype());
}

Tensor gather_rows(TensorParallel& tp, const Tensor& part, dist::Work& work) {
  Tensor whole = eager::empty(part.runtime(), with_first(part.sizes(), part.size(0) * tp.size()),
                              part.dtype());
  work = tp.group().all_gather_async(whole, part);
  return whole;
}

Tensor scatter_rows(TensorParallel& tp, const Tensor& whole, dist::Work& work) {
  Tensor part = eager::empty(whole.runtime(), with_first(whole.sizes(), whole.size(0) / tp.size()),
                             whole.dtype());
  work = tp.group().reduce_scatter_async(part, whole);
  return part;
}

Tensor summed_gradient(TensorParallel& tp, const Tensor& whole, dist::Work& work) {
  if (tp.splits_sequence()) {
    return scatter_rows(tp, whole, work);
  }
  if (tp.size() > 1) {
    work = tp.group().all_reduce(whole);
  }
  return whole;
}

Tensor summed_result(TensorParallel& tp, const Tensor& partial) {
  dist::Work work;
  Tensor result = summed_gradient(tp, partial, work);
  work.wait();
  return result;
}

Tensor own_weight_gradient(const TensorParallel& tp, const Tensor& weight) {
  return tp.fuses_weight_gradients()
             ? Tensor{}
             : product_block(weight.runtime(), weight.sizes(), weight.dtype());
}

Tensor weight_result(TensorParallel& tp, const Tensor& weight, Tensor own) {
  return tp.fuses_weight_gradients() ? tp.stand_in_gradient(weight) : std::move(own);
}

}  // namespace highwater::megatron
