// What LLMem reads from a model: the tensors that it counts, in its own symbols.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/plan/model/model_spec.hpp"
#include "workloads/training/parameters.hpp"

namespace highwater {

/// Counts are of elements, symbols those of LLMem, section 4.
struct LlmemInventory {
  /// Every parameter, in order of registration: what Gemini's chunks hold.
  std::vector<ParameterInfo> tensors;

  /// Weights of Embedding and Linear modules without an untied output head: the sum in m_os.
  std::vector<std::int64_t> moment_tensors;

  /// What the published estimator visits: weights and biases of Embedding and Linear modules in
  /// order of registration, the output head at the end even if its weight is the embedding's.
  std::vector<std::int64_t> walked_tensors;

  std::int64_t embed_p = 0;  ///< the token embedding
  std::int64_t lm_p = 0;     ///< the output head's weight, tied or not
  std::int64_t other_p = 0;  ///< neither token embedding nor untied head

  std::int64_t e_n = 0;      ///< embedding tables: 2 with learned positions
  std::int64_t l_n = 0;      ///< layers
  std::int64_t on = 0;       ///< width of a layer's output
  std::int64_t embed_n = 0;  ///< width of the token embedding: less than `on` in OPT-350m
  std::int64_t V = 0;        ///< dict_n, the vocabulary
  std::int64_t B = 2;        ///< bytes of a logit: 4 where the loss is computed in fp32
};

/// @pre the model is a decoder with a token embedding, and `tensors` are its parameters
LlmemInventory llmem_inventory(const ModelSpec& spec, std::vector<ParameterInfo> tensors);

/// Elements of every parameter on one of `tp_n` tensor-parallel ranks: Embedding and Linear weights
/// are split, biases and norms whole.
std::vector<std::int64_t> llmem_local_sizes(const LlmemInventory& inventory, int tp_n);

}  // namespace highwater
