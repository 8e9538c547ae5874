// What the training loop sees of a model: inputs in, loss and logits out.
//
// One file per family beside this one: its module tree and its forward, line by line as in the
// Python code it imitates, because the lifetimes of Python's variables decide when blocks are
// freed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "workloads/losses/fused_lm_head.hpp"
#include "workloads/nn/cache.hpp"
#include "workloads/nn/checkpoint.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/module.hpp"

namespace highwater {

/// The place of a model, or of a stage of one, among those that a process makes and wraps: what is
/// done once for each process comes with the first.
enum class ModelOrder : std::uint8_t { first, further };

}  // namespace highwater

namespace highwater::models {

using eager::Dims;
using eager::Runtime;
using eager::Tensor;
using nn::Module;

/// One micro-batch on the device.
struct Inputs {
  Tensor input_ids;
  Tensor labels;          ///< undefined: the model computes no loss
  Tensor attention_mask;  ///< undefined unless the plan gives one
  Tensor decoder_ids;     ///< what a decoder beside an encoder reads, if not the shifted labels
  Tensor hidden_states;   ///< of a pipeline stage behind the first: what it received
  Tensor positions;       ///< of torchtitan's batches, and where a rank has parts of sequences
  int chunk = 0;          ///< which of a pipeline stage's model chunks runs
};

/// transformers' CausalLMOutputWithPast: lives as long as the caller keeps it.
struct Outputs {
  Tensor loss;
  Tensor logits;
  std::vector<Tensor> logit_chunks;  ///< instead of logits if the loss is chunked
  losses::TokenScores scores;        ///< instead of logits with TRL's fused head
  nn::CachePtr cache;
  nn::CachePtr cross_cache;  ///< of an encoder-decoder
  Tensor encoder_states;     ///< of an encoder-decoder
  Tensor hidden_states;      ///< of a stage before the last, or instead of logits (separate_head())
};

class LanguageModel : public Module {
 public:
  using Module::Module;

  virtual Outputs forward(Inputs inputs) = 0;

  /// The head that the loss applies itself; null: forward does.
  [[nodiscard]] virtual const nn::Linear* separate_head() const { return nullptr; }

  /// Makes the buffers of a model that was sharded on meta, before its weights are loaded.
  virtual void init_buffers() {}

  /// Sets the parameters of a model that was made without data, once it is on the device.
  virtual void init_states() {}
};

/// Builds the module tree of the plan's model where `context` says.
std::unique_ptr<LanguageModel> build_model(nn::ModelContext& context);

/// What a call passes by name, in the order in which it names them; one of them may be a tuple. It
/// lives as long as the call or its checkpoint, and is released in that order, a tuple from its
/// end.
class Keywords {
 public:
  Keywords() = default;

  Keywords(std::initializer_list<eager::TensorList> values) : values_(values) {}

  Keywords(const Keywords&) = default;
  Keywords(Keywords&&) = default;
  Keywords& operator=(const Keywords&) = delete;

  ~Keywords() {
    std::ranges::for_each(values_, [](auto& value) { eager::release_list(value); });
  }

  [[nodiscard]] const eager::TensorList& operator[](std::size_t i) const { return values_[i]; }

  /// Copies on `device` where they are elsewhere.
  [[nodiscard]] Keywords on(eager::DeviceIndex device) const;

 private:
  std::vector<eager::TensorList> values_;
};

/// A block as a function of what is passed by position and by name.
using NamedSegment = std::function<Tensor(const std::vector<Tensor>& in, const Keywords& named)>;
using NamedTupleSegment =
    std::function<eager::TensorList(const std::vector<Tensor>& in, const Keywords& named)>;

/// Runs block number `index` of a model's layers, checkpointed if the plan says so. `arguments` are
/// the tensors that the model code passes by position.
Tensor run_block(const Module& block, std::size_t index, const nn::Segment& segment,
                 std::vector<Tensor> arguments);
Tensor run_block(const Module& block, std::size_t index, const NamedSegment& segment,
                 std::vector<Tensor> arguments, const Keywords& keywords);

/// The same for blocks that return a tuple.
eager::TensorList run_tuple_block(const Module& block, std::size_t index,
                                  const nn::TupleSegment& segment, std::vector<Tensor> arguments);
eager::TensorList run_tuple_block(const Module& block, std::size_t index,
                                  const NamedTupleSegment& segment, std::vector<Tensor> arguments,
                                  const Keywords& keywords);

}  // namespace highwater::models
