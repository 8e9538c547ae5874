// What the time of a step needs to know of a model: the sizes of its matrix products.
//
// A family whose layers are no plain decoder's (T5, DeepSeek-V3) is taken as one with the same
// number of weights in its layers: its products are stretched until the weights agree.
#pragma once

#include <cstdint>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater::timing {

struct LayerSizes {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t queries = 0;     ///< heads * head_dim
  std::int64_t keys = 0;        ///< kv_heads * head_dim
  std::int64_t ffn = 0;         ///< of one expert
  std::int64_t ffn_inputs = 1;  ///< 2: a gate beside
  std::int64_t experts = 1;
  std::int64_t chosen = 1;  ///< experts of a token
  std::int64_t vocab = 0;
  double stretch = 1;            ///< weights of the model's layers per weight of these
  double layer_parameters = 0;   ///< of one layer, experts included
  double expert_parameters = 0;  ///< those of them that expert parallelism spreads
  double ends_parameters = 0;    ///< embeddings and head
};

LayerSizes layer_sizes(const ModelSpec& model);

}  // namespace highwater::timing
