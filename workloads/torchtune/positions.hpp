// torchtune's rotary positions: a table of all of a model's positions in fp32, made once.
//
// Source: torchtune 0.6.1, modules/position_embeddings.py RotaryPositionalEmbeddings (LLaMA 2 and
// 3, Mistral), models/llama3_1/_position_embeddings.py Llama3ScaledRoPE (from 3.1 on) and
// models/qwen2/_positional_embeddings.py Qwen2RotaryPositionalEmbeddings. What has the width of a
// head, while the table is made, is left out.
#pragma once

#include "workloads/nn/module.hpp"
#include "workloads/plan/model/families/llama.hpp"

namespace highwater::torchtune {

class RotaryTable : public nn::Module {
 public:
  RotaryTable(nn::Module* parent, const LlamaConfig& config);

  /// rope_init, once a model that was made on meta is sharded.
  void make_again();

  /// [b, s, heads, d] turned by its positions.
  [[nodiscard]] eager::Tensor rotate(eager::Tensor x) const;

 private:
  [[nodiscard]] eager::Tensor theta(eager::Place place) const;
  [[nodiscard]] eager::Tensor make_table(eager::Place place) const;
  [[nodiscard]] eager::Tensor rows_for(const eager::Tensor& x) const;
  [[nodiscard]] eager::Tensor rotate_pairs(eager::Tensor x) const;
  [[nodiscard]] eager::Tensor rotate_halves(eager::Tensor x) const;

  std::int64_t positions_;
  std::int64_t head_dim_;
  bool turns_halves_;  ///< Qwen2's: the first half of a head with the second, in the model's type
  eager::Tensor table_;
};

}  // namespace highwater::torchtune
