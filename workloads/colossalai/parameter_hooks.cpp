#include "workloads/colossalai/parameter_hooks.hpp"

#include <utility>

#include "traces/error.hpp"
#include "workloads/colossalai/python_function.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::dist {

using eager::Tensor;
using eager::TensorList;

namespace {

/// The hooks of a layer that is one operator with parameters.
class OperatorHooks : public nn::ForwardHooks {
 public:
  OperatorHooks(nn::Module& module, GeminiManager& manager)
      : runtime_(module.runtime()), manager_(manager) {
    for (const nn::NamedTensor& own : module.own_parameters()) {
      if (own.tensor.defined()) {
        parameters_.push_back(own.tensor);
      }
    }
    // RMSNorm is many operators, of which only the last, weight * x, has a parameter.
    takes_argument_ = module.layer_kind() != nn::LayerKind::norm || parameters_.size() > 1;
  }

  void before(std::span<Tensor> arguments) override {
    arguments_ = arguments;
    if (takes_argument_) {
      manager_.before_operator(parameters_);
      hook_argument(&arguments.front());
    }
  }

  void before_parameters() override {
    if (!takes_argument_) {
      manager_.before_operator(parameters_);
      hook_argument(nullptr);
    }
  }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    finish(results.front());
    manager_.after_operator(parameters_);
    for (const Tensor& parameter : parameters_) {
      parameter->grad_fn = {};
      parameter->output_nr = 0;
    }
    const auto same = [](const Tensor& tensor) { return tensor; };
    const auto gather = [this](const Tensor& grad) {
      manager_.before_operator(parameters_);
      return grad;
    };
    results.front() = python_function("PostFwdPreBwdBackward", results.front(), same, gather);
  }

 protected:
  /// After the operator, with parameters still behind PreFwdPostBwd.
  virtual void finish(Tensor& /*result*/) {}

  /// The operator's own argument; the hooks decide when to release it.
  [[nodiscard]] Tensor& argument() const { return arguments_.front(); }

 private:
  // PreFwdPostBwd.apply(argument, *parameters): views of all of them.
  void hook_argument(Tensor* argument) {
    std::vector<Tensor> inputs;
    if (argument != nullptr) {
      inputs.push_back(*argument);
    }
    inputs.insert(inputs.end(), parameters_.begin(), parameters_.end());
    const auto node = eager::begin_node(runtime_, "PreFwdPostBwdBackward", inputs);
    if (!node) {
      return;
    }
    give_python_context(node);
    node->backward = [this](eager::Node& own, TensorList& grads) {
      manager_.after_operator(parameters_);
      TensorList out = std::exchange(grads, {});
      materialize(own, out);
      return out;
    };
    if (argument != nullptr) {
      enter_argument(node, *argument);
    }
    for (const Tensor& parameter : parameters_) {
      node->add_output(parameter);
    }
  }

  static void enter_argument(const eager::Ref<eager::Node>& node, Tensor& argument) {
    if (is_floating_point(argument.dtype())) {
      argument = eager::alias(argument);
      node->add_output(argument);
    } else {
      node->input_metadata.push_back({argument.sizes(), argument.dtype()});
    }
  }

  // PyNode::apply replaces missing gradients by zeros, including those of token ids.
  static void materialize(const eager::Node& node, TensorList& grads) {
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) {
        const eager::OpScope op(*node.runtime, "zeros");
        const auto& expected = node.input_metadata[i];
        grads[i] = eager::empty(*node.runtime, expected.sizes, expected.dtype);
      }
    }
  }

  eager::Runtime& runtime_;
  GeminiManager& manager_;
  std::vector<Tensor> parameters_;
  std::span<Tensor> arguments_;  ///< of the call under way
  bool takes_argument_ = true;
};

/// colo_linear_1drow: cut the input, multiply, sum over the ranks, add the bias.
class RowLinearHooks : public OperatorHooks {
 public:
  RowLinearHooks(nn::Linear& layer, GeminiManager& manager, const TensorParallelRank& place)
      : OperatorHooks(layer, manager), bias_(std::exchange(layer.bias, {})), place_(place) {}

  void before(std::span<Tensor> arguments) override {
    OperatorHooks::before(arguments);
    argument() = take_columns(argument(), place_);
  }

 protected:
  void finish(Tensor& result) override {
    Tensor partial = std::exchange(result, {});
    result = sum_over_ranks(partial, place_);
    if (bias_.defined()) {
      result = eager::add(result, bias_);
    }
    eager::end_of_frame(argument(), partial);
  }

 private:
  Tensor bias_;
  TensorParallelRank place_;
};

/// colo_embedding_1Dcol: every rank looks up its columns; they are gathered twice, once for
/// nothing.
class ColumnEmbeddingHooks : public OperatorHooks {
 public:
  ColumnEmbeddingHooks(nn::Embedding& layer, GeminiManager& manager,
                       const TensorParallelRank& place)
      : OperatorHooks(layer, manager), place_(place) {}

 protected:
  void finish(Tensor& result) override {
    gather_columns(result, place_);
    result = gather_columns(result, place_);
  }

 private:
  TensorParallelRank place_;
};

std::shared_ptr<nn::ForwardHooks> hooks_for(nn::Module& module, GeminiManager& manager,
                                            const std::optional<TensorParallelRank>& split) {
  if (auto* linear = dynamic_cast<nn::Linear*>(&module); linear != nullptr && split) {
    return std::make_shared<RowLinearHooks>(*linear, manager, *split);
  }
  if (auto* embedding = dynamic_cast<nn::Embedding*>(&module); embedding != nullptr && split) {
    return std::make_shared<ColumnEmbeddingHooks>(*embedding, manager, *split);
  }
  return std::make_shared<OperatorHooks>(module, manager);
}

}  // namespace

void hook_parameters(nn::Module& root, GeminiManager& manager,
                     const std::optional<TensorParallelRank>& split) {
  if (!root.own_parameters().empty()) {
    if (root.layer_kind() == nn::LayerKind::other) {
      throw InputError("plan", "framework",
                       "colossalai-gemini supports only the parameters of linear layers, "
                       "embeddings and norms, but the model has others",
                       "choose another model or framework");
    }
    root.add_forward_hooks(hooks_for(root, manager, split));
  }
  for (nn::Module* child : root.children()) {
    hook_parameters(*child, manager, split);
  }
}

}  // namespace highwater::dist
