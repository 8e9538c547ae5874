#include "workloads/estimates/llmem/llmem.hpp"

#include <array>
#include <cmath>

#include "workloads/estimates/llmem/llmem_plan.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/llmem_chunks.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr double kB16 = 2;
constexpr double kB32 = 4;

// Terms that all methods share, with the simulation's names for the parts they stand for.
EstimateTerm base_term(const LlmemJob& job) {
  return {"base", "m_base", job.m_base, {MemoryPart::outside}};
}

EstimateTerm output_term(const LlmemParts& parts) {
  return {"outputs", "m_out", parts.m_out, {MemoryPart::activations}};
}

EstimateTerm logits_term(const LlmemParts& parts) {
  return {"logits", "m_lm - lm_p", parts.m_lm - parts.lm_p, {MemoryPart::logits}};
}

EstimateTerm head_term(const LlmemParts& parts) {
  return {"head weight", "lm_p", parts.lm_p, {MemoryPart::parameters}};
}

EstimateTerm back_term(double m_back) {
  return {"gathered outputs", "m_back", m_back, {MemoryPart::temporaries}};
}

// The fp16 chunks hold the gradients too; gathered chunks are what ZeRO-3 communicates.
constexpr PartSet kFp16Chunks{MemoryPart::parameters, MemoryPart::gradients,
                              MemoryPart::communication};
constexpr PartSet kFp32Chunks{MemoryPart::optimizer_states};

// m_p in two terms, as only its fp32 share is optimizer state.
Estimate cdp(const LlmemParts& parts, const LlmemJob& job) {
  return {{base_term(job),
           {"fp16 parameters", "m_p - m_p32", parts.m_p - parts.m_p32, kFp16Chunks},
           {"fp32 parameters", "m_p32", parts.m_p32, kFp32Chunks},
           {"moments", "m_os", parts.m_os, {MemoryPart::optimizer_states}},
           output_term(parts),
           logits_term(parts),
           head_term(parts)}};
}

Estimate adp(const LlmemParts& parts, const LlmemJob& job) {
  return {{base_term(job),
           {"fp16 parameters", "m_p16", parts.m_p16, kFp16Chunks},
           {"fp32 parameters", "m_p32 / n", parts.m_p32 / job.n, kFp32Chunks},
           {"moments", "m_os / n", parts.m_os / job.n, {MemoryPart::optimizer_states}},
           output_term(parts),
           logits_term(parts),
           head_term(parts)}};
}

Estimate tp(const LlmemParts& parts, double m_back, const LlmemJob& job) {
  const double fp16 = parts.m_p - parts.m_p32;
  return {{base_term(job),
           {"fp16 parameters", "(m_p - m_p32) / n", fp16 / job.n, kFp16Chunks},
           {"fp32 parameters", "m_p32 / n", parts.m_p32 / job.n, kFp32Chunks},
           {"moments", "m_os / n", parts.m_os / job.n, {MemoryPart::optimizer_states}},
           output_term(parts),
           logits_term(parts),
           head_term(parts),
           back_term(m_back)}};
}

Estimate dp_tp(const LlmemParts& parts, double m_back, const LlmemJob& job,
               LlmemGathered gathered) {
  Estimate estimate = adp(parts, job);
  if (gathered == LlmemGathered::corrected) {
    estimate.terms[1] = {"fp16 parameters", "m_p16 / tp_n", parts.m_p16 / job.tp_n, kFp16Chunks};
  } else {
    const double elsewhere = -parts.m_p16 * job.tp_n / job.n;
    estimate.terms.push_back(
        {"fp16 parameters not gathered", "- m_p16 tp_n / n", elsewhere, kFp16Chunks});
  }
  estimate.terms.push_back(back_term(m_back));
  return estimate;
}

Estimate estimate_of(const EstimateInputs& inputs, LlmemGathered gathered) {
  const LlmemInventory inventory = llmem_inventory(inputs.plan.model, inputs.tensors);
  const std::int64_t cs =
      gemini_chunk_size(llmem_local_sizes(inventory, 1), inputs.plan.parallel.dp);
  return llmem_peak(llmem_method(inputs), inventory, cs, llmem_batch(inputs), llmem_job(inputs),
                    gathered);
}

Estimate evaluate(const EstimateInputs& inputs) {
  return estimate_of(inputs, LlmemGathered::printed);
}

Estimate evaluate_corrected(const EstimateInputs& inputs) {
  return estimate_of(inputs, LlmemGathered::corrected);
}

/// All methods on the job's GPUs, no matter which one the plan uses.
std::vector<FormulaVariant> variants(const EstimateInputs& inputs) {
  const LlmemInventory inventory = llmem_inventory(inputs.plan.model, inputs.tensors);
  const std::int64_t cs = gemini_chunk_size(llmem_local_sizes(inventory, 1));
  const LlmemJob job = llmem_job(inputs);
  const bool has_groups = job.tp_n > 1 && job.tp_n < job.n;
  std::vector<FormulaVariant> rows;
  for (const LlmemMethod method :
       {LlmemMethod::cdp, LlmemMethod::adp, LlmemMethod::tp, LlmemMethod::dp_tp}) {
    if (job.n > 1 && (method != LlmemMethod::dp_tp || has_groups)) {
      rows.push_back(
          {.label = std::string(to_string(method)),
           .gpu_bytes = llmem_peak(method, inventory, cs, llmem_batch(inputs), job).bytes()});
    }
  }
  return rows;
}

std::string refuse_where_equal(const EstimateInputs& inputs) {
  if (std::string refusal = llmem_refusal(inputs); !refusal.empty()) {
    return refusal;
  }
  if (llmem_method(inputs) != LlmemMethod::dp_tp) {
    return "it equals llmem for this plan: they differ only in the term for combined data and "
           "tensor parallelism";
  }
  const LlmemJob job = llmem_job(inputs);
  const bool is_same = (job.n - job.tp_n) * job.tp_n == job.n;  // 1 - tp_n/n = 1/tp_n
  return is_same
             ? "it equals llmem for this plan: with 2 data-parallel groups of 2 the printed term "
               "is correct"
             : "";
}

}  // namespace

std::string_view to_string(LlmemMethod method) {
  constexpr std::array<std::string_view, 4> kNames{"CDP", "ADP", "TP", "DP+TP"};
  return kNames[static_cast<std::size_t>(method)];
}

double llmem_ceil(double bytes) {
  return std::ceil(bytes / kLlmemUnit) * kLlmemUnit;
}

LlmemParts llmem_parts(const LlmemInventory& inventory, std::int64_t cs, const LlmemBatch& batch) {
  const auto [bs, sl] = batch;
  const auto size = static_cast<double>(cs);
  const auto embed_p = static_cast<double>(inventory.embed_p);
  const auto other_p = static_cast<double>(inventory.other_p);
  const double elements = embed_p + (size > 0 ? std::ceil(other_p / size) * size : 0);
  const auto V = static_cast<double>(inventory.V);
  const auto B = static_cast<double>(inventory.B);
  const auto kept = static_cast<double>(inventory.e_n + inventory.l_n);

  LlmemParts parts;
  parts.m_p = llmem_ceil(elements * (kB16 + kB32));
  parts.m_p16 = llmem_ceil(elements * kB16);
  parts.m_p32 = llmem_ceil(elements * kB32);
  for (const std::int64_t t_p : inventory.moment_tensors) {
    parts.m_os += llmem_ceil(static_cast<double>(t_p) * (kB32 + kB32));
  }
  parts.m_out = llmem_ceil(kept * bs * sl * static_cast<double>(inventory.on) * kB16);
  parts.lm_p = static_cast<double>(inventory.lm_p) * kB16;
  parts.m_lm = llmem_ceil(bs * sl * V * B) + 2 * llmem_ceil(bs * (sl - 1) * V * B) + parts.lm_p;
  return parts;
}

double llmem_back(const LlmemInventory& inventory, const LlmemBatch& batch, int tp_n) {
  const double outputs =
      static_cast<double>(inventory.l_n) * batch.bs * batch.sl * static_cast<double>(inventory.on);
  return llmem_ceil(outputs * (tp_n - 1) / tp_n * kB16);
}

Estimate llmem_peak(LlmemMethod method, const LlmemInventory& inventory, std::int64_t cs,
                    const LlmemBatch& batch, const LlmemJob& job, LlmemGathered gathered) {
  const LlmemParts parts = llmem_parts(inventory, cs, batch);
  switch (method) {
    case LlmemMethod::cdp:
      return cdp(parts, job);
    case LlmemMethod::adp:
      return adp(parts, job);
    case LlmemMethod::tp:
      return tp(parts, llmem_back(inventory, batch, job.n), job);
    case LlmemMethod::dp_tp:
      return dp_tp(parts, llmem_back(inventory, batch, job.tp_n), job, gathered);
  }
  return {};
}

const Formula kLlmem{
    .name = "llmem",
    .title = "LLMem, as printed",
    .scope = FormulaScope::device,
    .equation =
        "CDP: m_base + m_p + m_os + m_out + m_lm; ADP: m_base + m_p16 + (m_p32 + m_os)/n + m_out + "
        "m_lm; TP: m_base + (m_p + m_os)/n + m_out + m_lm + m_back; DP+TP: ADP - m_p16 tp_n/n + "
        "m_back",
    .source =
        "\"LLMem: Estimating GPU Memory Usage for Fine-Tuning Pre-Trained LLMs\", sections 4 "
        "and 5",
    .assumptions = kLlmemAssumptions,
    .known_errors =
        "m_base is measured and not printed (1100 MiB fits its tables best); one layer's "
        "recomputation is omitted; ADP assumes that all fp16 parameters are gathered at once; "
        "DP+TP's fp16 term is correct only for n = tp_n^2/(tp_n - 1); with a single m_base, three "
        "of nine printed selections do not follow",
    .refusal = llmem_refusal,
    .broken_assumptions = llmem_broken_assumptions,
    .evaluate = evaluate,
    .variants = variants,
};

const Formula kLlmemCorrected{
    .name = "llmem-corrected",
    .title = "LLMem, DP+TP corrected",
    .scope = FormulaScope::device,
    .equation =
        "DP+TP: m_base + m_p16/tp_n + (m_p32 + m_os)/n + m_out + m_lm + m_back, all else as llmem",
    .source =
        "LLMem section 5, with the fp16 parameters that a tensor-parallel rank holds after "
        "gathering across its data-parallel group",
    .assumptions = kLlmemAssumptions,
    .known_errors = "as llmem, except for the fp16 term",
    .refusal = refuse_where_equal,
    .broken_assumptions = llmem_broken_assumptions,
    .evaluate = evaluate_corrected,
};

}  // namespace highwater
