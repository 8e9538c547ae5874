// LLMem's Algorithm 1: the largest batch of every method, and which method trains fastest.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "workloads/estimates/llmem/llmem.hpp"

namespace highwater {

inline constexpr std::array kLlmemMethods{LlmemMethod::cdp, LlmemMethod::adp, LlmemMethod::tp,
                                          LlmemMethod::dp_tp};

/// The peak in bytes of a method with `batch` sequences per GPU; never less with more sequences.
using LlmemAccounting = std::function<double(LlmemMethod method, int batch)>;

struct LlmemCluster {
  double capacity = 0;  ///< m_total, bytes of one GPU
  int n = 1;            ///< GPUs
  int tp_n = 1;         ///< of DP+TP; 1 or n: the method is left out
  bool has_cdp = true;  ///< the accounting supports replicated data parallelism

  /// Several groups of several GPUs.
  [[nodiscard]] bool has_groups() const { return tp_n > 1 && tp_n < n; }

  /// One GPU allows only CDP; two axes need groups.
  [[nodiscard]] bool can_run(LlmemMethod method) const {
    return method == LlmemMethod::cdp ? has_cdp || n == 1
                                      : n > 1 && (method != LlmemMethod::dp_tp || has_groups());
  }
};

struct LlmemScore {
  int max_batch = 0;  ///< largest batch whose peak does not exceed the capacity; 0: none
  double score = 0;   ///< weighted sequences per step of the job
  double peak = 0;    ///< bytes at max_batch, or at one sequence if not even that fits
};

/// A method, or nothing: the algorithm's "CPU offloading".
using LlmemChoice = std::optional<LlmemMethod>;

struct LlmemSelection {
  std::array<LlmemScore, kLlmemMethods.size()> methods;  ///< in the order of kLlmemMethods
  LlmemChoice printed;    ///< offloads if TP's score is 0, as the algorithm's last line says
  LlmemChoice corrected;  ///< offloads if all scores are 0, as the paper's text says

  [[nodiscard]] const LlmemScore& of(LlmemMethod method) const {
    return methods[static_cast<std::size_t>(method)];
  }
};

/// Source: LLMem, Algorithm 1. Scores: CDP 1.5 n bs, ADP n bs, TP bs, DP+TP (n/tp_n) bs; the first
/// of the largest wins.
LlmemSelection llmem_select(const LlmemAccounting& accounting, const LlmemCluster& cluster);

/// The paper's formulas as an accounting.
LlmemAccounting llmem_accounting(LlmemInventory inventory, double sl, const LlmemJob& job,
                                 LlmemGathered gathered = LlmemGathered::printed);

/// The published code's sums as an accounting.
LlmemAccounting llmem_code_accounting(LlmemInventory inventory, double sl, const LlmemJob& job);

/// As the paper's table 3 writes it: "4DP", "4TP", "2DP+2TP", "CPU offloading".
std::string llmem_label(const LlmemChoice& choice, const LlmemCluster& cluster);

}  // namespace highwater
