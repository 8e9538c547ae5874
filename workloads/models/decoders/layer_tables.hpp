// The rotary tables of a decoder's forward, and the modules that make them.
#pragma once

#include <memory>

#include "workloads/models/rotary.hpp"
#include "workloads/plan/model/families/llama_config.hpp"

namespace highwater::models {

struct LayerTables {
  Tensor query_scale;  ///< of layers without positions: Beam
  CosSin all;
  CosSin windowed;  ///< of layers with a window, where kinds have tables of their own
};

/// The module `rotary_emb` of a model, and Granite SWA's second one.
class TableMakers {
 public:
  TableMakers(Module* model, const LlamaConfig& config);

  void initialize_again() const;

  [[nodiscard]] LayerTables make(const Tensor& states, const Tensor& position_ids) const;

 private:
  LlamaConfig config_;
  std::unique_ptr<RotaryEmbedding> first_;
  std::unique_ptr<nn::Container> others_;
  std::unique_ptr<RotaryEmbedding> second_;  ///< null: layers turn by the first's
};

}  // namespace highwater::models
