#include "workloads/estimates/llmem/llmem_selection.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "workloads/estimates/llmem/llmem_code.hpp"
#include "workloads/plan/llmem_chunks.hpp"

namespace highwater {
namespace {

constexpr double kReplicatedBonus = 1.5;  // CDP communicates least
constexpr int kMostSequences = 1 << 24;   // of a model whose peak does not grow with the batch

int data_parallel_groups(const LlmemCluster& cluster) {
  return cluster.n / cluster.tp_n;
}

double score_of(LlmemMethod method, int batch, const LlmemCluster& cluster) {
  switch (method) {
    case LlmemMethod::cdp:
      return kReplicatedBonus * cluster.n * batch;
    case LlmemMethod::adp:
      return static_cast<double>(cluster.n) * batch;
    case LlmemMethod::tp:
      return batch;
    case LlmemMethod::dp_tp:
      return static_cast<double>(data_parallel_groups(cluster)) * batch;
  }
  return 0;
}

// The largest batch up to kMostSequences that fits, 0 if none: peaks grow with the batch, so
// doubling and bisection find what the paper's loop finds one by one.
template <class Fits>
int largest_batch(Fits fits) {
  int too_large = 1;
  while (too_large < kMostSequences && fits(too_large)) {
    too_large *= 2;
  }
  int largest = too_large / 2;
  while (too_large - largest > 1) {
    const int middle = largest + (too_large - largest) / 2;
    (fits(middle) ? largest : too_large) = middle;
  }
  return largest;
}

/// What depends on the method but not on the batch, worked out once.
struct CodeMethod {
  LlmemJob job;
  std::vector<std::int64_t> chunks;
};

}  // namespace

LlmemSelection llmem_select(const LlmemAccounting& accounting, const LlmemCluster& cluster) {
  LlmemSelection selection;
  LlmemMethod best = LlmemMethod::cdp;
  for (const LlmemMethod method : kLlmemMethods) {
    if (!cluster.can_run(method)) {
      continue;
    }
    LlmemScore& result = selection.methods[static_cast<std::size_t>(method)];
    result.max_batch =
        largest_batch([&](int batch) { return accounting(method, batch) <= cluster.capacity; });
    result.score = score_of(method, result.max_batch, cluster);
    result.peak = accounting(method, std::max(result.max_batch, 1));
    if (result.score > selection.of(best).score) {
      best = method;
    }
  }
  if (selection.of(best).score > 0) {
    selection.corrected = best;
  }
  // One GPU has no TP whose score the printed line could use.
  if (cluster.n == 1 || selection.of(LlmemMethod::tp).score > 0) {
    selection.printed = selection.corrected;
  }
  return selection;
}

LlmemAccounting llmem_accounting(LlmemInventory inventory, double sl, const LlmemJob& job,
                                 LlmemGathered gathered) {
  const std::int64_t cs = gemini_chunk_size(llmem_local_sizes(inventory, 1));
  return [inventory = std::move(inventory), cs, sl, job, gathered](LlmemMethod method, int batch) {
    const LlmemBatch one{.bs = static_cast<double>(batch), .sl = sl};
    return llmem_peak(method, inventory, cs, one, job, gathered).bytes();
  };
}

LlmemAccounting llmem_code_accounting(LlmemInventory inventory, double sl, const LlmemJob& job) {
  std::array<CodeMethod, kLlmemMethods.size()> methods;
  for (const LlmemMethod method : kLlmemMethods) {
    const LlmemJob method_job = llmem_code_job(method, job);
    methods[static_cast<std::size_t>(method)] = {method_job,
                                                 llmem_code_chunks(inventory, method_job)};
  }
  return [inventory = std::move(inventory), methods = std::move(methods), sl](LlmemMethod method,
                                                                              int batch) {
    const auto& [method_job, chunks] = methods[static_cast<std::size_t>(method)];
    const LlmemBatch one{.bs = static_cast<double>(batch), .sl = sl};
    return llmem_code_peak(llmem_code_parts(inventory, chunks, one, method_job), method_job)
        .bytes();
  };
}

std::string llmem_label(const LlmemChoice& choice, const LlmemCluster& cluster) {
  if (!choice) {
    return "CPU offloading";
  }
  const std::string n = std::to_string(cluster.n);
  switch (*choice) {
    case LlmemMethod::cdp:
    case LlmemMethod::adp:
      return n + "DP";
    case LlmemMethod::tp:
      return n + "TP";
    case LlmemMethod::dp_tp:
      return std::to_string(data_parallel_groups(cluster)) + "DP+" + std::to_string(cluster.tp_n) +
             "TP";
  }
  return "";
}

}  // namespace highwater
