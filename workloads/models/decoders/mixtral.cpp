// Mixtral (transformers 5.12, models/mixtral/modeling_mixtral.py): Mistral with a mixture of
// experts in every block.
#include "workloads/plan/model/families/mixtral.hpp"

#include <utility>

#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/decoders/listed_mixture.hpp"
#include "workloads/models/experts/experts.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/model/families/mistral.hpp"

namespace highwater::models {

namespace {

/// What MixtralTopKRouter returns.
struct MixtralRouting {
  Tensor logits;
  Tensor scores;
  Tensor indices;
};

class MixtralRouter : public Module {
 public:
  MixtralRouter(Module* parent, const MixtralConfig& config)
      : Module(parent, "gate"), top_k_(config.num_experts_per_tok), width_(config.hidden_size) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {config.num_local_experts, config.hidden_size});
  }

  MixtralRouting operator()(const Tensor& hidden_states) const {
    const nn::InModule scope(*this);
    eager::TensorList results =
        call_with(eager::TensorList{hidden_states}, [this](const eager::TensorList& in) {
          MixtralRouting routing = route(in[0]);
          return eager::TensorList{std::move(routing.logits), std::move(routing.scores),
                                   std::move(routing.indices)};
        });
    return {std::move(results[0]), std::move(results[1]), std::move(results[2])};
  }

 private:
  [[nodiscard]] MixtralRouting route(const Tensor& hidden_states) const {
    const Tensor states = eager::reshape(hidden_states, {-1, width_});
    MixtralRouting routing;
    routing.logits = eager::linear(states, weight_, {});
    Tensor probabilities;
    {
      const Tensor wide = eager::to_dtype(routing.logits, DType::fp32);
      probabilities = eager::softmax(wide, -1, std::nullopt);
    }
    auto top = eager::topk(probabilities, top_k_);
    {
      const Tensor total = eager::sum(top.values, {-1}, eager::KeepDim::yes);
      eager::div_(top.values, total);
    }
    routing.scores = std::move(top.values);
    routing.indices = std::move(top.indices);
    return routing;
  }

  std::int64_t top_k_;
  std::int64_t width_;
  Tensor weight_;
};

class MixtralBlock : public FeedForward {
 public:
  MixtralBlock(Module* parent, const MixtralConfig& config)
      : FeedForward(parent, "mlp"),
        gate_(this, config),
        experts_(this, {.count = config.num_local_experts,
                        .hidden = config.hidden_size,
                        .width = config.intermediate_size,
                        .activation = config.hidden_act}) {}

  Tensor operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    return call(std::move(hidden_states), [this](const Tensor& in) { return mixture(in); });
  }

 private:
  [[nodiscard]] Tensor mixture(const Tensor& hidden_states) const {
    const Dims sizes = hidden_states.sizes();
    Tensor states = eager::view(hidden_states, {-1, sizes.back()});
    MixtralRouting routing = gate_(states);
    states = experts_(states, routing.indices, routing.scores);
    states = eager::reshape(states, sizes);
    eager::end_of_frame(routing.logits, routing.scores, routing.indices);
    return states;
  }

  MixtralRouter gate_;
  MixtureOfExperts experts_;
};

ListedMixture listed_mixture_of(const MixtralConfig& config) {
  return {.name = "block_sparse_moe",
          .layers = ExpertLayerNames::w1_w2_w3,
          .experts = config.num_local_experts,
          .top_k = config.num_experts_per_tok,
          .hidden = config.hidden_size,
          .width = config.intermediate_size,
          .activation = config.hidden_act,
          .make_shared_expert = {}};
}

std::unique_ptr<FeedForward> make_mixture(Module* parent, const MixtralConfig& config) {
  if (lists_experts(parent->context().plan)) {
    return make_listed_mixture(parent, listed_mixture_of(config));
  }
  return std::make_unique<MixtralBlock>(parent, config);
}

}  // namespace

LlamaConfig decoder_of(const MixtralConfig& config) {
  LlamaConfig result = mistral_defaults();
  result.vocab_size = config.vocab_size;
  result.hidden_size = config.hidden_size;
  result.intermediate_size = config.intermediate_size;
  result.num_hidden_layers = config.num_hidden_layers;
  result.num_attention_heads = config.num_attention_heads;
  result.num_key_value_heads = kv_heads_of(config);
  result.head_dim = head_dim_of(config);
  result.hidden_act = config.hidden_act;
  result.pad_token_id = config.pad_token_id;
  result.tie_word_embeddings = config.tie_word_embeddings;
  result.rope_parameters = config.rope_parameters;
  result.attention_dropout = config.attention_dropout;
  result.sliding_window = config.sliding_window;
  return result;
}

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const MixtralConfig& config) {
  return make_llama_with(context, decoder_of(config),
                         [&](Module* parent) { return make_mixture(parent, config); });
}

}  // namespace highwater::models
