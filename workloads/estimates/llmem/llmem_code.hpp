// What LLMem's published estimator adds up, where it differs from the paper: it measures the base
// including the chunks, rounds every tensor to 2 MiB separately, and counts biases.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/estimates/llmem/llmem.hpp"
#include "workloads/estimates/llmem/llmem_inventory.hpp"
#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// The estimator's job for a method: it takes gpu_n and tp_n alone. It has no CDP on several GPUs;
/// here that is the single GPU's sum, as in the paper.
LlmemJob llmem_code_job(LlmemMethod method, const LlmemJob& job);

/// The chunks of one rank: the search over its shards of the tensors. Source: the training scripts.
std::vector<std::int64_t> llmem_code_chunks(const LlmemInventory& inventory, const LlmemJob& job);

/// Bytes on one GPU, by what the estimator's loops add.
struct LlmemCodeParts {
  double chunks16 = 0;      ///< fp16 parameters: part of the base that the code measures
  double chunks32 = 0;      ///< fp32 parameters: likewise
  double moments = 0;       ///< of every tensor that it visits except the last
  double gathered = 0;      ///< fp16 parameters of other ranks
  double head_weights = 0;  ///< the last tensor in fp16: a tied head is counted again
  double outputs = 0;       ///< kept by checkpointing
  double logits = 0;
  double back = 0;  ///< what tensor parallelism gathers in backward
  double inputs = 0;

  [[nodiscard]] double chunk_bytes() const { return chunks16 + chunks32; }

  [[nodiscard]] double param_bytes() const { return moments + gathered + head_weights; }
};

/// `job.tp_n` is 1 without tensor parallelism and n with nothing else.
/// Source: the estimator that the paper's authors published, with Transformers 4.29.2.
LlmemCodeParts llmem_code_parts(const LlmemInventory& inventory,
                                const std::vector<std::int64_t>& chunks, const LlmemBatch& batch,
                                const LlmemJob& job);

/// The peak on one GPU: base and parts.
Estimate llmem_code_peak(const LlmemCodeParts& parts, const LlmemJob& job);

extern const Formula kLlmemCode;

}  // namespace highwater
