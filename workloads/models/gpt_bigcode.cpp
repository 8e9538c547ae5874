// GPTBigCode: SantaCoder, StarCoder (transformers 5.12,
// models/gpt_bigcode/modeling_gpt_bigcode.py).
#include "workloads/plan/model/families/gpt_bigcode.hpp"

#include "workloads/models/attention.hpp"
#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/gpt2_block.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

namespace {

using eager::TensorList;

class GptBigCodeAttention : public Module {
 public:
  GptBigCodeAttention(Module* parent, const GptBigCodeConfig& config)
      : Module(parent, "attn"),
        multi_query_(config.multi_query),
        embed_dim_(config.n_embd),
        heads_(config.n_head),
        head_dim_(config.n_embd / config.n_head),
        kv_dim_(kv_heads_of(config) * head_dim_),
        dropout_(config.attn_pdrop),
        c_attn_(this, "c_attn", config.n_embd, config.n_embd + 2 * kv_dim_),
        c_proj_(this, "c_proj", config.n_embd, config.n_embd),
        resid_dropout_(this, "resid_dropout", config.resid_pdrop) {}

  AttentionResult operator()(Tensor hidden_states, const Tensor& attention_mask,
                             const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    TensorList parts = multi_query_ ? one_key_head(hidden_states) : equal_heads(hidden_states);
    Tensor query = std::move(parts[0]);
    Tensor key = std::move(parts[1]);
    Tensor value = std::move(parts[2]);
    if (cache) {
      cache->update(key, value);
    }
    AttentionResult result = attend(query, key, value, attention_mask);
    Tensor& output = result.output;
    output = eager::contiguous(eager::reshape(output, {output.size(0), output.size(1), -1}));
    output = c_proj_(output);
    output = resid_dropout_(output);
    eager::end_of_frame(hidden_states, key, value, query);
    return result;
  }

 private:
  [[nodiscard]] TensorList one_key_head(const Tensor& hidden_states) const {
    const Tensor qkv = eager::unsqueeze(c_attn_(hidden_states), 1);
    TensorList parts = eager::split_with_sizes(qkv, {embed_dim_, kv_dim_, kv_dim_}, 3);
    parts[0] = eager::transpose(
        eager::view(parts[0], {hidden_states.size(0), hidden_states.size(1), -1, head_dim_}), 1, 2);
    return parts;
  }

  [[nodiscard]] TensorList equal_heads(const Tensor& hidden_states) const {
    const Tensor qkv =
        eager::view(c_attn_(hidden_states),
                    {hidden_states.size(0), hidden_states.size(1), heads_, 3 * head_dim_});
    return eager::split_with_sizes(eager::transpose(qkv, 1, 2), {head_dim_, head_dim_, head_dim_},
                                   3);
  }

  [[nodiscard]] AttentionResult attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const Tensor& mask) const {
    AttentionCall call{.query = query,
                       .key = key,
                       .value = value,
                       .mask = mask,
                       .dropout = context().training ? context().dropout(dropout_) : 0.0,
                       .groups = multi_query_ ? heads_ : 1,
                       .is_grouped = true};
    return context().is_eager() ? eager_attention_fp32(context(), std::move(call))
                                : sdpa_attention(context(), std::move(call));
  }

  bool multi_query_;
  std::int64_t embed_dim_;
  std::int64_t heads_;
  std::int64_t head_dim_;
  std::int64_t kv_dim_;
  double dropout_;
  nn::Linear c_attn_;
  nn::Linear c_proj_;
  nn::Dropout resid_dropout_;
};

class GptBigCodeModel : public Module {
 public:
  GptBigCodeModel(Module* parent, const GptBigCodeConfig& config)
      : Module(parent, "transformer"),
        n_positions_(config.n_positions),
        wte_(this, "wte", config.vocab_size, config.n_embd),
        wpe_(this, "wpe", config.n_positions, config.n_embd),
        drop_(this, "drop", config.embd_pdrop),
        h_(this, "h"),
        blocks_(h_, static_cast<std::size_t>(config.n_layer), config),
        ln_f_(this, "ln_f", config.n_embd),
        bias_(causal_table()) {
    register_buffer("bias", bias_);
    static_cast<void>(causal_table());  // _init_weights makes it once more and copies it
  }

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor inputs_embeds = wte_(inputs.input_ids);
    Tensor position_ids = position_ids_of(inputs, runtime(), inputs_embeds.size(1));
    Tensor mask = nn::create_causal_mask(context(), {.inputs_embeds = inputs_embeds,
                                                     .attention_mask = inputs.attention_mask,
                                                     .position_ids = position_ids,
                                                     .has_cache = cache != nullptr});
    Tensor position_embeds = wpe_(position_ids);
    Tensor states = eager::add(inputs_embeds, position_embeds);
    states = drop_(states);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = blocks_[i];
      states = run_block(block, i,
                         [&block, cache](const std::vector<Tensor>& in, const Keywords& named) {
                           return block(in[0], named[0][0], cache);
                         },
                         {states, Tensor{}}, {{mask}});
    }
    states = ln_f_(states);
    states = eager::view(states, inputs_embeds.sizes());
    eager::end_of_frame(position_ids, inputs_embeds, mask, position_embeds);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return wte_.weight; }

 private:
  // tril(ones)
  [[nodiscard]] Tensor causal_table() const {
    const nn::InModule scope(*this);
    const Tensor ones =
        eager::empty_on(runtime(), context().place, {n_positions_, n_positions_}, DType::boolean);
    return eager::empty_like(ones);
  }

  std::int64_t n_positions_;
  nn::Embedding wte_;
  nn::Embedding wpe_;
  nn::Dropout drop_;
  nn::Container h_;
  nn::BlockList<Gpt2Block<GptBigCodeAttention, nn::Linear>> blocks_;
  nn::LayerNorm ln_f_;
  Tensor bias_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context,
                                          const GptBigCodeConfig& config) {
  return std::make_unique<CausalLm<GptBigCodeModel>>(
      context,
      HeadConfig{.width = config.n_embd,
                 .vocab_size = config.vocab_size,
                 .is_tied = config.tie_word_embeddings},
      config);
}

}  // namespace highwater::models
