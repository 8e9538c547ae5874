// What functions of PyTorch's C++ say of an operator or of a backward node.
#pragma once

#include <string_view>

namespace highwater {

/// "mul_Tensor" of at::_ops::mul_Tensor::call(...) or ::redispatch(...); empty for others.
std::string_view operator_of(std::string_view function);

/// "MulBackward0" of torch::autograd::generated::MulBackward0::apply(...); empty for others.
std::string_view autograd_node_of(std::string_view function);

}  // namespace highwater
