#include "workloads/nn/quantized/linear_4bit.hpp"

#include "workloads/nn/quantized/converted_bias.hpp"

namespace highwater::nn {
namespace {

// torch/_tensor.py __deepcopy__: a copy of the storage, and a number that is dropped.
void copy_deeply(const Tensor& tensor, std::vector<Tensor>& copies) {
  if (tensor.defined()) {
    const eager::OpScope op(tensor.runtime(), "deepcopy", 0);
    copies.push_back(eager::empty_like(tensor));
    const Tensor number = eager::empty(tensor.runtime(), {}, tensor.dtype());
  }
}

void copy_deeply(const QuantState& state, std::vector<Tensor>& copies) {
  for (const Tensor* part :
       {&state.absmax, &state.code, &state.offset, &state.nested_absmax, &state.nested_code}) {
    copy_deeply(*part, copies);
  }
}

}  // namespace

Tensor Linear4Bit::apply(const Tensor& x, const Tensor& bias) const {
  Tensor input = eager::to_dtype(x, compute_dtype_);
  convert_bias(bias, compute_dtype_);
  Tensor product = matmul_4bit(input, weight_, bias);
  Tensor result = eager::to_dtype(product, x.dtype());
  eager::end_of_frame(product, input);
  return result;
}

// Params4bit.__deepcopy__ begins with the state, which the module itself holds once more.
std::vector<Tensor> Linear4Bit::deep_copied(const Tensor& bias) const {
  std::vector<Tensor> copies;
  copy_deeply(weight_.state, copies);
  copy_deeply(weight_.data, copies);
  if (bias.defined()) {
    copies.push_back(eager::empty_like(bias));  // torch/nn/parameter.py: data.clone()
  }
  copy_deeply(weight_.state, copies);
  return copies;
}

// functional.py QuantState.as_dict: the table of nested scales, which layers share, is copied.
std::vector<Tensor> Linear4Bit::saved_state() const {
  if (!weight_.state.is_nested()) {
    return {};
  }
  return {eager::clone(weight_.state.nested_code)};
}

// modules.py Params4bit.to: quant_state.to(device).
void Linear4Bit::bring_state_to_cuda() const {
  const QuantState& state = weight_.state;
  for (const Tensor* part :
       {&state.absmax, &state.code, &state.offset, &state.nested_absmax, &state.nested_code}) {
    if (part->defined()) {
      move_tensor_to_cuda(*part, Category::parameter);
    }
  }
}

Tensor Linear4Bit::dequantized() const {
  return dequantize_4bit(weight_.state);
}

}  // namespace highwater::nn
