// What the LLMem paper prints, for comparison: measured and estimated memory on one GPU (Table 2)
// and the strategies it selects on four (Table 3).
//
// Both on V100 cards of 16384 MiB, fp16, sequences of 512 tokens; what the paper calls MB is MiB.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace highwater {

/// A row of Table 2, in MiB: one GPU, the largest batch that ran (not printed).
struct LlmemMeasured {
  std::string_view model;  ///< a preset's name
  double truth = 0;        ///< as nvidia-smi shows it
  double llmem = 0;        ///< the paper's estimate
  double dnnmem = 0;       ///< its re-implementation of DNNMem
  int batch = 0;           ///< the batch at which an m_base of about 1.1 GiB gives `llmem`
};

/// A row of Table 3: seconds of fine-tuning by strategy; absent where it ran out of memory.
struct LlmemSelected {
  std::string_view model;  ///< a preset's name
  std::string_view selection;
  std::optional<int> dp;      ///< "4DP"
  std::optional<int> dp_tp;   ///< "2DP+2TP"
  std::optional<int> tp;      ///< "4TP"
  std::string_view mismatch;  ///< why the printed formulas select otherwise; empty: they agree
};

std::span<const LlmemMeasured> llmem_table2();
std::span<const LlmemSelected> llmem_table3();

inline constexpr double kLlmemCardMib = 16384;
inline constexpr int kLlmemSequence = 512;
inline constexpr int kLlmemGpus = 4;
inline constexpr int kLlmemTpGroup = 2;  ///< of DP+TP

}  // namespace highwater
