// Elementwise operators. Formulas: tools/autograd/derivatives.yaml and FunctionsManual.cpp of
// PyTorch 2.6; which operand is saved depends on which gradients are needed.
#include <algorithm>
#include <array>

#include "workloads/eager/autocast.hpp"
#include "workloads/eager/formulas.hpp"
#include "workloads/eager/graph_recorder.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

int category_of(DType type) {
  if (type == DType::complex64) {
    return 3;
  }
  if (is_floating_point(type)) {
    return 2;
  }
  return type == DType::boolean ? 0 : 1;
}

Tensor unary(const char* op, const Tensor& self) {
  return pointwise(op, {self}, self.dtype());
}

enum class SavesWhat { input, output };

// The common operator whose gradient needs one tensor and allocates one result.
Tensor unary_with_gradient(const char* op, const char* name, const char* backward_op,
                           const Tensor& self, SavesWhat saves) {
  const auto node = begin_node(self.runtime(), name, {self});
  if (node && saves == SavesWhat::input) {
    node->save(self);
  }
  Tensor result = unary(op, self);
  finish_node(node, result, [backward_op](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    return TensorList{pointwise(backward_op, {grads[0], kept}, promote(grads[0], kept))};
  });
  if (node && saves == SavesWhat::output) {
    node->save_output(result);
  }
  return result;
}

// tensor.conj() as an operand of mul: the lazy conjugate of a complex tensor is computed first.
Tensor conjugate(const Tensor& value) {
  const bool is_complex = value.defined() && value.dtype() == DType::complex64;
  return is_complex ? unary("conj_physical", value) : value;
}

}  // namespace

Tensor pointwise(const char* op, std::initializer_list<Tensor> operands, DType result) {
  Runtime& runtime = operands.begin()->runtime();
  OpScope scope(runtime, op);
  const RecordedScope record(runtime, op, {operands.begin(), operands.size()});
  boost::container::static_vector<Layout, 4> layouts;
  Dims sizes = operands.begin()->sizes();
  for (const auto& operand : operands) {
    runtime.read(operand);
    sizes = broadcast(sizes, operand.sizes());
    layouts.push_back({&operand.sizes(), &operand.strides()});
  }
  return empty_strided(runtime, sizes, elementwise_strides(sizes, {layouts.data(), layouts.size()}),
                       result);
}

DType wider(DType a, DType b) {
  if (a == b) {
    return a;
  }
  if (category_of(a) != category_of(b)) {
    return category_of(a) > category_of(b) ? a : b;
  }
  // bf16 with fp16 gives fp32; otherwise the larger one.
  return item_size(a) == item_size(b) ? DType::fp32 : (item_size(a) > item_size(b) ? a : b);
}

DType promote(const Tensor& a, const Tensor& b) {
  // A 0-dimensional tensor decides only where its category is higher (c10::result_type).
  const bool a_scalar = a.dim() == 0;
  const bool b_scalar = b.dim() == 0;
  if (a_scalar != b_scalar) {
    const DType tensor = a_scalar ? b.dtype() : a.dtype();
    const DType scalar = a_scalar ? a.dtype() : b.dtype();
    return category_of(scalar) > category_of(tensor) ? scalar : tensor;
  }
  return wider(a.dtype(), b.dtype());
}

BackwardFunction add_backward() {
  return [](Node& own, TensorList& grads) {
    TensorList out(2);
    if (own.needs(1)) {
      out[1] = grads[0];
    }
    if (own.needs(0)) {
      out[0] = grads[0];
    }
    return out;
  };
}

BackwardFunction div_backward() {
  return [](Node& own, TensorList& grads) {
    const Tensor other_value = own.unpack(0);
    const Tensor self_value = own.unpack(1);
    TensorList out(2);
    if (own.needs(1)) {
      Tensor ratio = pointwise("div", {self_value, other_value}, promote(self_value, other_value));
      Tensor second = pointwise("div", {ratio, other_value}, promote(ratio, other_value));
      Tensor negative = unary("neg", grads[0]);
      out[1] = pointwise("mul", {negative, second}, promote(negative, second));
    }
    if (own.needs(0)) {
      out[0] = pointwise("div", {grads[0], other_value}, promote(grads[0], other_value));
    }
    return out;
  };
}

Tensor add(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "AddBackward0", {self, other});
  Tensor result = pointwise("add", {self, other}, promote(self, other));
  finish_node(node, result, add_backward());
  return result;
}

Tensor add(const Tensor& self, double /*scalar*/) {
  const auto node = begin_node(self.runtime(), "AddBackward0", {self});
  Tensor result = unary("add", self);
  finish_node(node, result, [](Node&, TensorList& grads) { return TensorList{grads[0]}; });
  return result;
}

Tensor sub(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "SubBackward0", {self, other});
  Tensor result = pointwise("sub", {self, other}, promote(self, other));
  finish_node(node, result, [](Node& own, TensorList& grads) {
    TensorList out(2);
    if (own.needs(1)) {
      out[1] = unary("neg", grads[0]);
    }
    if (own.needs(0)) {
      out[0] = grads[0];
    }
    return out;
  });
  return result;
}

Tensor rsub(const Tensor& self, double /*scalar*/) {
  const auto node = begin_node(self.runtime(), "RsubBackward1", {self});
  Tensor result = unary("rsub", self);
  finish_node(node, result,
              [](Node&, TensorList& grads) { return TensorList{unary("neg", grads[0])}; });
  return result;
}

Tensor mul(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "MulBackward0", {self, other});
  if (node) {
    node->save(self.requires_grad() ? other : Tensor{});
    node->save(other.requires_grad() ? self : Tensor{});
  }
  Tensor result = pointwise("mul", {self, other}, promote(self, other));
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor other_value = own.unpack(0);
    const Tensor self_value = own.unpack(1);
    TensorList out(2);
    if (own.needs(1)) {
      const Tensor factor = conjugate(self_value);
      out[1] = pointwise("mul", {grads[0], factor}, promote(grads[0], factor));
    }
    if (own.needs(0)) {
      const Tensor factor = conjugate(other_value);
      out[0] = pointwise("mul", {grads[0], factor}, promote(grads[0], factor));
    }
    return out;
  });
  return result;
}

Tensor mul(const Tensor& self, double /*scalar*/) {
  const auto node = begin_node(self.runtime(), "MulBackward0", {self});
  Tensor result = unary("mul", self);
  finish_node(node, result,
              [](Node&, TensorList& grads) { return TensorList{unary("mul", grads[0])}; });
  return result;
}

Tensor div(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "DivBackward0", {self, other});
  if (node) {
    node->save(other);
    node->save(other.requires_grad() ? self : Tensor{});
  }
  Tensor result = pointwise("div", {self, other}, promote(self, other));
  finish_node(node, result, div_backward());
  return result;
}

DType quotient_type(DType dtype) {
  return category_of(dtype) < category_of(DType::fp32) ? DType::fp32 : dtype;
}

// True division: integers become numbers of the default type.
Tensor div(const Tensor& self, double /*scalar*/) {
  const auto node = begin_node(self.runtime(), "DivBackward0", {self});
  Tensor result = pointwise("div", {self}, quotient_type(self.dtype()));
  finish_node(node, result,
              [](Node&, TensorList& grads) { return TensorList{unary("div", grads[0])}; });
  return result;
}

// grad * (the other factor * value), even of a value of 1
Tensor addcmul(const Tensor& self, const Tensor& first, const Tensor& second) {
  const auto node = begin_node(self.runtime(), "AddcmulBackward0", {self, first, second});
  if (node) {
    node->save(second.requires_grad() ? first : Tensor{});
    node->save(first.requires_grad() ? second : Tensor{});
  }
  Tensor result = pointwise("addcmul", {self, first, second}, promote(first, second));
  finish_node(node, result, [](Node& own, TensorList& grads) {
    TensorList out(3);
    out[0] = own.needs(0) ? grads[0] : Tensor{};
    for (const std::size_t factor : {std::size_t{1}, std::size_t{2}}) {
      if (own.needs(factor)) {
        const Tensor other = unary("mul", own.unpack(factor == 1 ? 1 : 0));
        out[factor] = pointwise("mul", {grads[0], other}, promote(grads[0], other));
      }
    }
    return out;
  });
  return result;
}

Tensor neg(const Tensor& self) {
  const auto node = begin_node(self.runtime(), "NegBackward0", {self});
  Tensor result = unary("neg", self);
  finish_node(node, result,
              [](Node&, TensorList& grads) { return TensorList{unary("neg", grads[0])}; });
  return result;
}

namespace {

// self.pow(1) is a plain memory copy, not a kernel (ATen/native/Pow.cpp).
Tensor first_power(const Tensor& self) {
  const OpScope scope(self.runtime(), "pow", 0);
  const RecordedScope record(self.runtime(), "pow", std::span(&self, 1));
  return empty_like(self);
}

}  // namespace

// pow_backward: grad * (exponent * self.pow(exponent - 1)).
Tensor pow(const Tensor& input, double exponent) {
  const AutocastOp cast(input.runtime());
  const Tensor self = cast.to_fp32(input);
  const auto node = begin_node(self.runtime(), "PowBackward0", {self});
  if (node) {
    node->save(self);
  }
  Tensor result = unary("pow", self);
  finish_node(node, result, [exponent](Node& own, TensorList& grads) {
    const Tensor value = own.unpack(0);
    Tensor power = exponent == 2.0 ? first_power(value) : unary("pow", value);
    Tensor factor = unary("mul", power);
    TensorList out{pointwise("mul", {grads[0], factor}, promote(grads[0], factor))};
    end_of_frame(factor, power);
    return out;
  });
  return result;
}

// The base becomes a tensor of its own (ATen/native/Pow.cpp: wrapped_scalar_tensor, float64).
Tensor pow_of_scalar(const Tensor& input) {
  const AutocastOp cast(input.runtime());
  const Tensor exponent = cast.to_fp32(input);
  Tensor result = unary("pow", exponent);
  OpScope op(exponent.runtime(), "pow");
  const Tensor base = empty(exponent.runtime(), {}, DType::int64);
  return result;
}

// -0.5 * grad * result.pow(3)
Tensor rsqrt(const Tensor& input) {
  const AutocastOp cast(input.runtime());
  const Tensor self = cast.to_fp32(input);
  const auto node = begin_node(self.runtime(), "RsqrtBackward0", {self});
  Tensor result = unary("rsqrt", self);
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor value = own.unpack(0);
    Tensor cube = unary("pow", value);
    Tensor half = unary("mul", grads[0]);
    TensorList out{pointwise("mul", {half, cube}, promote(half, cube))};
    end_of_frame(half, cube);
    return out;
  });
  if (node) {
    node->save_output(result);
  }
  return result;
}

Tensor tanh(const Tensor& self) {
  return unary_with_gradient("tanh", "TanhBackward0", "tanh_backward", self, SavesWhat::output);
}

Tensor sigmoid(const Tensor& self) {
  return unary_with_gradient("sigmoid", "SigmoidBackward0", "sigmoid_backward", self,
                             SavesWhat::output);
}

Tensor relu(const Tensor& self) {
  return unary_with_gradient("relu", "ReluBackward0", "threshold_backward", self,
                             SavesWhat::output);
}

Tensor silu(const Tensor& self) {
  return unary_with_gradient("silu", "SiluBackward0", "silu_backward", self, SavesWhat::input);
}

Tensor gelu(const Tensor& self) {
  return unary_with_gradient("gelu", "GeluBackward0", "gelu_backward", self, SavesWhat::input);
}

Tensor cos(const Tensor& self) {
  return unary("cos", self);
}

Tensor sin(const Tensor& self) {
  return unary("sin", self);
}

// masked_fill(grad, mask, 0)
Tensor masked_fill(const Tensor& self, const Tensor& mask) {
  const auto node = begin_node(self.runtime(), "MaskedFillBackward0", {self});
  if (node) {
    node->save(mask);
  }
  Tensor result = pointwise("masked_fill", {self, mask}, self.dtype());
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    return TensorList{pointwise("masked_fill", {grads[0], kept}, grads[0].dtype())};
  });
  return result;
}

// The gradient is where(condition, grad, 0), and the 0 becomes a tensor on the GPU.
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "WhereBackward0", {self, other});
  if (node) {
    node->save(condition);
  }
  Tensor result = pointwise("where", {condition, self, other}, promote(self, other));
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    TensorList out(2);
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      if (own.needs(i)) {
        const Tensor zero = empty(*own.runtime, {}, grads[0].dtype());
        out[i] = pointwise("where", {kept, grads[0]}, grads[0].dtype());
      }
    }
    return out;
  });
  return result;
}

Tensor compare(const char* op, std::initializer_list<Tensor> operands) {
  return pointwise(op, operands, DType::boolean);
}

}  // namespace highwater::eager
