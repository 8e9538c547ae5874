#include "workloads/megatron/layers/grouped_linear.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/layers/engine_products.hpp"
#include "workloads/megatron/transformer_engine/products.hpp"

namespace highwater::megatron {
namespace {

/// _GroupedLinear.backward. Saved: input, weights.
struct GroupedBackward {
  TensorParallel* tp;
  std::size_t experts;

  TensorList operator()(eager::Node& node, TensorList& grads) const {
    const Tensor input = node.unpack(0);
    const Tensor first = node.unpack(1);
    TensorList results{input_gradient(grads[0], first)};
    const TensorList own = own_gradients(first);
    for (std::size_t i = 0; i < experts; ++i) {
      results.push_back(tp->fuses_weight_gradients() ? tp->stand_in_gradient(first) : own[i]);
    }
    return results;
  }

 private:
  // One block, of which each weight's gradient is a view.
  [[nodiscard]] TensorList own_gradients(const Tensor& weight) const {
    if (tp->fuses_weight_gradients()) {
      return {};
    }
    const auto count = static_cast<std::int64_t>(experts);
    const Tensor all =
        product_block(weight.runtime(), {count, weight.size(0), weight.size(1)}, weight.dtype());
    return eager::unbind(all, 0);
  }
};

}  // namespace

GroupedLinear::GroupedLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                             std::int64_t experts, LinearSize size)
    : Module(parent, std::move(name)), tp_(tp) {
  const nn::InModule scope(*this);
  for (std::int64_t i = 0; i < experts; ++i) {
    weights_.push_back(make_parameter("weight" + std::to_string(i), {size.out, size.in}));
  }
}

Tensor GroupedLinear::operator()(const Tensor& rows) const {
  const nn::InModule scope(*this);
  TensorList inputs{rows};
  inputs.insert(inputs.end(), weights_.begin(), weights_.end());
  const auto node =
      eager::begin_node(runtime(), "_GroupedLinearBackward", std::span<const Tensor>(inputs));
  Tensor output = result_block(rows, weights_.front());
  keep_stream_workspaces(runtime());
  eager::finish_node(node, output, GroupedBackward{.tp = &tp_, .experts = weights_.size()});
  if (node) {
    for (const Tensor& each : inputs) {
      node->save(each);
    }
  }
  return output;
}

}  // namespace highwater::megatron
