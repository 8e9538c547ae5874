// LLMem: "LLMem: Estimating GPU Memory Usage for Fine-Tuning Pre-Trained LLMs", sections 4 and 5,
// the formulas as printed. Colossal-AI's Gemini (chunked ZeRO-3), fp16 with fp32 copies, Adam,
// every layer checkpointed.
#pragma once

#include <cstdint>
#include <string_view>

#include "workloads/estimates/llmem/llmem_inventory.hpp"
#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// Ways to spread a job over n GPUs, in the order in which the paper tries them.
enum class LlmemMethod : std::uint8_t {
  cdp,   ///< data parallel, a whole model per GPU
  adp,   ///< "advanced": ZeRO-3
  tp,    ///< tensor parallel over all GPUs
  dp_tp  ///< ZeRO-3 over groups of tp_n tensor-parallel GPUs
};

/// "CDP", "ADP", "TP", "DP+TP".
std::string_view to_string(LlmemMethod method);

/// The unit in which a GPU hands out memory to a process: ceil_cu rounds up to it.
inline constexpr double kLlmemUnit = 2.0 * 1024 * 1024;

/// `bytes` rounded up to kLlmemUnit.
double llmem_ceil(double bytes);

struct LlmemBatch {
  double bs = 1;    ///< sequences per GPU
  double sl = 512;  ///< tokens of each
};

struct LlmemJob {
  double m_base = 0;  ///< bytes in use before training: context and libraries; measured
  int n = 1;          ///< gpu_n
  int tp_n = 1;       ///< of DP+TP; TP takes n
};

/// The summands of section 4 in bytes.
struct LlmemParts {
  double m_p = 0;    ///< chunks of fp16 and fp32 parameters
  double m_p16 = 0;  ///< the same, fp16 alone
  double m_p32 = 0;  ///< the same, fp32 alone
  double m_os = 0;   ///< two fp32 moments per Embedding and Linear weight
  double m_out = 0;  ///< outputs that checkpointing keeps
  double lm_p = 0;   ///< the output head's fp16 weight, part of m_lm
  double m_lm = 0;   ///< logits, twice more shifted, and the output head's fp16 weight
};

/// `cs`: chunk size in elements (gemini_chunk_size). Source: section 4, the equations of m_p, m_os,
/// m_out and m_lm.
LlmemParts llmem_parts(const LlmemInventory& inventory, std::int64_t cs, const LlmemBatch& batch);

/// m_back of section 5: what tensor parallelism gathers in backward, bytes.
double llmem_back(const LlmemInventory& inventory, const LlmemBatch& batch, int tp_n);

/// The fp16 parameters on a GPU of DP+TP after gathering.
enum class LlmemGathered : std::uint8_t {
  printed,   ///< m_p16 (1 - tp_n/n): right only if n = tp_n^2 / (tp_n - 1), as for 2 x 2
  corrected  ///< m_p16 / tp_n
};

/// The peak on one GPU. Source: section 4 (one GPU, and so CDP) and section 5 (ADP, TP, DP+TP).
Estimate llmem_peak(LlmemMethod method, const LlmemInventory& inventory, std::int64_t cs,
                    const LlmemBatch& batch, const LlmemJob& job,
                    LlmemGathered gathered = LlmemGathered::printed);

extern const Formula kLlmem;
extern const Formula kLlmemCorrected;

}  // namespace highwater
