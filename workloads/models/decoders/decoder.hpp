// The frame that LLaMA shares with its relatives (Mistral, Qwen, Gemma, Mixtral, DeepSeek-V3):
// embedding, blocks with rotary positions, norm, head. What is in a block is the family's matter.
#pragma once

#include <functional>
#include <memory>

#include "workloads/models/attention.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/models/rotary.hpp"
#include "workloads/plan/model/families/llama.hpp"

namespace highwater::models {

/// Keys and values that a layer leaves behind: a tuple, released from its end.
struct KeptStates {
  Tensor key;
  Tensor value;

  void keep(const Tensor& new_key, const Tensor& new_value) {
    eager::end_of_frame(value, key);
    key = new_key;
    value = new_value;
  }
};

/// Gemma 4's shared_kv_states: of the last layer of each kind.
struct SharedStates {
  KeptStates full;
  KeptStates windowed;

  SharedStates() = default;
  SharedStates(const SharedStates&) = delete;
  SharedStates& operator=(const SharedStates&) = delete;

  ~SharedStates() {
    eager::end_of_frame(windowed.value, windowed.key);
    eager::end_of_frame(full.value, full.key);
  }
};

using SharedStatesPtr = std::shared_ptr<SharedStates>;

/// What a block is given beside the hidden states.
struct BlockInputs {
  Tensor layer_input;  ///< Gemma 4's, of this layer
  CosSin positions;
  Tensor mask;
  nn::CachePtr cache;
  Tensor query_scale;      ///< of layers without positions: Beam
  bool slides = false;     ///< the block's cache is a sliding window
  SharedStatesPtr shared;  ///< null: nothing is left behind
};

/// A block's attention, with its projections.
class DecoderAttention : public Module {
 public:
  using Module::Module;

  virtual AttentionResult operator()(Tensor hidden_states, const BlockInputs& inputs) const = 0;

  /// What the block adds to the output; undefined: nothing.
  [[nodiscard]] virtual Tensor output_bias() const { return {}; }
};

class DecoderLayer : public Module {
 public:
  using Module::Module;

  virtual Tensor operator()(Tensor hidden_states, const BlockInputs& inputs) const = 0;
};

/// A block's feed-forward part: one gated network or a mixture of them.
class FeedForward : public Module {
 public:
  using Module::Module;

  virtual Tensor operator()(Tensor hidden_states) const = 0;
};

using LayerMaker = std::function<std::unique_ptr<DecoderLayer>(Module* parent, std::int64_t index)>;
using AttentionMaker = std::function<std::unique_ptr<DecoderAttention>(Module* parent)>;
using FeedForwardMaker = std::function<std::unique_ptr<FeedForward>(Module* parent)>;

/// down(act(gate(x)) * up(x)).
std::unique_ptr<FeedForward> make_gated_mlp(Module* parent, std::string name,
                                            const LlamaConfig& config,
                                            std::int64_t intermediate_size);

/// The feed-forward part that the family's code says.
std::unique_ptr<FeedForward> make_mlp(Module* parent, const LlamaConfig& config);

/// The feed-forward part of `layer`: a mixture of experts where the layer has one.
std::unique_ptr<FeedForward> make_feed_forward(Module* parent, std::int64_t layer,
                                               const LlamaConfig& config);

/// How the parts of a block are made.
struct BlockParts {
  AttentionMaker make_attention;
  FeedForwardMaker make_mlp;
};

/// The attention that the family's code says.
std::unique_ptr<DecoderAttention> make_attention(Module* parent, std::int64_t layer,
                                                 const LlamaConfig& config);

/// A block with norms and sums as the family's code says, and with these parts.
std::unique_ptr<DecoderLayer> make_decoder_layer(Module* parent, std::int64_t index,
                                                 const LlamaConfig& config,
                                                 const BlockParts& parts);

/// A LLaMA whose blocks `make_layer` builds. Its head_dim is the rotary tables' width.
std::unique_ptr<LanguageModel> make_decoder(nn::ModelContext& context, const LlamaConfig& config,
                                            const LayerMaker& make_layer);

/// A LLaMA whose blocks have the feed-forward part that `make_mlp` builds.
std::unique_ptr<LanguageModel> make_llama_with(nn::ModelContext& context, const LlamaConfig& config,
                                               const FeedForwardMaker& make_mlp);

}  // namespace highwater::models
