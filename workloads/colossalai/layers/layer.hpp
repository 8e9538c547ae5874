// What a GPT is built of: Colossal-AI's layers, of one kind of tensor parallelism.
//
// Source: Colossal-AI 0.5, legacy/nn/layer/colossalai_layer/{linear,embedding,normalization}.py,
// which choose a class by the kind; tables of more than 2048 rows are split along the rows as well
// (vocab_parallel_limit).
#pragma once

#include <memory>
#include <string>

#include "workloads/colossalai/layers/python_context.hpp"
#include "workloads/nn/module.hpp"

namespace highwater::colossalai {

/// A layer of one operand.
class Layer : public nn::Module {
 public:
  using Module::Module;

  virtual Tensor operator()(Tensor x) const = 0;
};

using LayerPtr = std::unique_ptr<Layer>;

/// Tables of at most this many rows are split along their columns alone.
inline constexpr std::int64_t kVocabParallelLimit = 2048;

/// Makes the layers of one model on this rank; outlives them. Layers must be made in the order in
/// which the model is constructed.
class LayerMaker {
 public:
  LayerMaker() = default;
  LayerMaker(const LayerMaker&) = delete;
  LayerMaker& operator=(const LayerMaker&) = delete;
  virtual ~LayerMaker() = default;

  virtual LayerPtr linear(nn::Module* parent, std::string name, std::int64_t in,
                          std::int64_t out) = 0;
  virtual LayerPtr norm(nn::Module* parent, std::string name, std::int64_t width) = 0;
  virtual LayerPtr embedding(nn::Module* parent, std::string name, std::int64_t rows,
                             std::int64_t width) = 0;

  /// VocabParallelClassifier without a bias; with `tied` it has no weight of its own.
  virtual LayerPtr head(nn::Module* parent, std::string name, std::int64_t in, std::int64_t classes,
                        const Tensor& tied) = 0;

  /// VocabParallelCrossEntropyLoss of [rows, classes / q] logits and the [all rows] targets.
  virtual Tensor loss(const Tensor& logits, const Tensor& targets) = 0;
};

std::unique_ptr<LayerMaker> make_layers(nn::ModelContext& context);

}  // namespace highwater::colossalai
