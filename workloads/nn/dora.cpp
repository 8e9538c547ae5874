#include "workloads/nn/dora.hpp"

#include <utility>
#include <vector>

namespace highwater::nn {
namespace {

// dequantize_module_weight
Tensor whole_weight(const Linear& layer) {
  return layer.quantized() == nullptr ? layer.weight : layer.quantized()->dequantized();
}

// get_weight_norm: torch.linalg.norm(weight + scaling * lora_weight, dim=1).to(weight.dtype)
Tensor lengths_of(const Tensor& weight, const Tensor& lora_weight, Tensor& sum) {
  Tensor scaled = eager::mul(lora_weight, 1.0);
  sum = eager::add(weight, scaled);
  scaled.reset();
  return eager::to_dtype(eager::vector_norm(sum, 1), sum.dtype());
}

// fp16 adapters are multiplied in fp32, as which they stay until the lengths are taken.
struct Factors {
  Tensor a;
  Tensor b;

  [[nodiscard]] Tensor product(DType dtype) const {
    return eager::to_dtype(eager::mm(b, a), dtype);
  }
};

Tensor widened(const Tensor& factor) {
  return factor.dtype() == DType::fp16 ? eager::to_dtype(factor, DType::fp32) : factor;
}

// get_lora_weight: lora_B(lora_A(torch.eye(in_features))).T
Tensor lora_weight_of(const Linear& a, const Linear& b) {
  Tensor eye = eager::empty(a.runtime(), {a.in_features(), a.in_features()}, a.weight.dtype());
  Tensor low = a(eye);
  Tensor product = b(low);
  low.reset();
  Tensor transposed = eager::t(product);
  eager::end_of_frame(product, eye);
  return transposed;
}

}  // namespace

DoraMagnitude::DoraMagnitude(Linear& layer, const Linear& a, const Linear& b)
    : layer_(layer), container_(&layer, "lora_magnitude_vector"), vector_(&container_, "default") {
  const InModule scope(vector_);
  magnitude_ = lengths_with(a, b);
  magnitude_->requires_grad = true;
  vector_.runtime().categorize(magnitude_, Category::parameter);
  vector_.register_parameter("weight", magnitude_);
}

// A 4-bit layer is copied before (copy.deepcopy). The lengths keep their graph, and so the sum that
// they are taken of, until the function ends.
Tensor DoraMagnitude::lengths_with(const Linear& a, const Linear& b) const {
  const eager::NoGrad no_grad(vector_.runtime());
  if (layer_.weight.place() != eager::Place::cuda) {
    return eager::empty_on(vector_.runtime(), layer_.weight.place(), {layer_.out_features()},
                           layer_.weight.dtype());
  }
  Factors factors{.a = widened(a.weight), .b = widened(b.weight)};
  std::vector<Tensor> copies;
  if (layer_.quantized() != nullptr) {
    copies = layer_.quantized()->deep_copied(layer_.bias);
  }
  Tensor weight = whole_weight(layer_);
  Tensor lora_weight = factors.product(a.weight.dtype());
  Tensor sum;
  Tensor lengths = lengths_of(weight, lora_weight, sum);
  for (Tensor& copy : copies) {
    copy.reset();
  }
  eager::end_of_frame(weight, lora_weight, sum, factors.a, factors.b);
  return lengths;
}

void DoraMagnitude::convert_to(DType dtype) {
  if (magnitude_.dtype() != dtype) {
    const InModule scope(vector_);
    magnitude_ = vector_.remake_parameter("weight", dtype);
  }
}

Tensor DoraMagnitude::added(Tensor x, Tensor base_result, const Linear& a, const Linear& b) const {
  const InModule scope(vector_);
  Tensor lora_weight = eager::to_dtype(lora_weight_of(a, b), x.dtype());
  Tensor weight = whole_weight(layer_);
  weight = eager::to_dtype(weight, x.dtype());
  Tensor sum;
  Tensor lengths = eager::detach(lengths_of(weight, eager::detach(lora_weight), sum));
  sum.reset();
  Tensor scale = eager::view(eager::div(magnitude_, lengths), {1, -1});
  Tensor low = a(x);
  Tensor lora_result = b(low);
  low.reset();
  if (!base_result.defined()) {
    base_result = eager::linear(x, weight, {});
  } else if (layer_.bias.defined()) {
    base_result = eager::sub(base_result, layer_.bias);
  }
  Tensor change = eager::add(scale, -1.0);
  Tensor from_base = eager::mul(change, base_result);
  change.reset();
  Tensor from_adapter = eager::mul(scale, lora_result);
  Tensor scaled = eager::mul(from_adapter, 1.0);
  from_adapter.reset();
  Tensor result = eager::add(from_base, scaled);
  eager::end_of_frame(from_base, scaled);
  eager::end_of_frame(x, base_result, lora_weight, weight, lengths, scale, lora_result);
  return result;
}

}  // namespace highwater::nn
