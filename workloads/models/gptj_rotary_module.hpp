// GPT-J and CodeGen since transformers 5.24 (models/gptj/modular_gptj.py and
// models/codegen/modular_codegen.py): one module makes the sines and cosines of all layers, blocks
// return hidden states alone, and attention is any function of transformers, SDPA by default. The
// two differ in their projections, which is an argument here.
#pragma once

#include <memory>

#include "workloads/models/gptj_decoder.hpp"

namespace highwater::models {

/// Where queries, keys and values come from.
enum class GptJProjections : std::uint8_t {
  separate,   ///< GPT-J: a layer for each
  four_cores  ///< CodeGen: one layer, laid out for four TPU cores; rotation is in fp32
};

inline constexpr std::int64_t kCodegenCores = 4;  // mp_num

/// What both configurations say.
struct GptJShape {
  std::int64_t vocab_size = 0;
  std::int64_t positions = 0;
  std::int64_t width = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t rotary_dim = 0;
  double attention_dropout = 0.0;
  double residual_dropout = 0.0;
  double embedding_dropout = 0.0;
  bool is_tied = false;
  MlpConfig mlp;
};

template <class Config>
GptJShape gptj_shape(const Config& config) {
  return {.vocab_size = config.vocab_size,
          .positions = config.n_positions,
          .width = config.n_embd,
          .layers = config.n_layer,
          .heads = config.n_head,
          .rotary_dim = config.rotary_dim,
          .attention_dropout = config.attn_pdrop,
          .residual_dropout = config.resid_pdrop,
          .embedding_dropout = config.embd_pdrop,
          .is_tied = config.tie_word_embeddings,
          .mlp = gptj_mlp_config(config)};
}

/// The first release whose GPT-J and CodeGen these are.
inline constexpr Release kGptJRotaryModule{5, 24};

std::unique_ptr<LanguageModel> make_gptj_with_rotary_module(nn::ModelContext& context,
                                                            const GptJShape& shape,
                                                            GptJProjections projections);

}  // namespace highwater::models
