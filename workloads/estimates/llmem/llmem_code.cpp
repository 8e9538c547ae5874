#include "workloads/estimates/llmem/llmem_code.hpp"

#include <algorithm>
#include <span>

#include "workloads/estimates/llmem/llmem_plan.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/llmem_chunks.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr double kHalf = 2;           // bytes of an fp16 element
constexpr double kSingle = 4;         // bytes of an fp32 element
constexpr double kIdBytes = 8;        // of a token id
constexpr double kSampleRows = 2;     // the sample batch that the code measures its inputs with
constexpr int kEmbeddingEntries = 2;  // token and position, whether or not there is a table

// fp16 bytes of a visited tensor that other ranks hold and this one gathers.
double gathered_bytes(double elements, const LlmemJob& job) {
  const double whole = llmem_ceil(kHalf * elements);
  if (job.tp_n == 1) {
    return job.n == 1 ? 0 : llmem_ceil(whole * (job.n - 1) / job.n);
  }
  return job.tp_n < job.n ? llmem_ceil(whole * (job.n - job.tp_n - 1) / job.n) : 0;
}

void add_parameters(LlmemCodeParts& parts, const LlmemInventory& inventory, const LlmemJob& job) {
  const std::span<const std::int64_t> walked = inventory.walked_tensors;
  for (const std::int64_t size : walked.first(walked.size() - 1)) {
    const auto elements = static_cast<double>(size);
    parts.moments += 2 * llmem_ceil(kSingle * elements / job.n);
    parts.gathered += gathered_bytes(elements, job);
  }
  parts.head_weights = llmem_ceil(kHalf * static_cast<double>(walked.back()));
}

void add_chunks(LlmemCodeParts& parts, const std::vector<std::int64_t>& chunks,
                const LlmemJob& job) {
  const int dp = job.n / job.tp_n;
  for (const std::int64_t chunk : chunks) {
    parts.chunks16 += llmem_ceil(kHalf * static_cast<double>(chunk) / dp);
    parts.chunks32 += llmem_ceil(kSingle * static_cast<double>(chunk) / dp);
  }
}

// OPT-350m's project_out stands for its last layer in both lists.
void add_outputs(LlmemCodeParts& parts, const LlmemInventory& inventory, const LlmemBatch& batch,
                 const LlmemJob& job) {
  const double tokens = batch.bs * batch.sl;
  const auto layers = static_cast<double>(inventory.l_n - 1);
  const double wide = tokens * static_cast<double>(inventory.on) * kHalf;
  const double narrow = tokens * static_cast<double>(inventory.embed_n) * kHalf;
  const bool is_projected = inventory.embed_n != inventory.on;
  const double other_ranks = static_cast<double>(job.tp_n - 1) / job.tp_n;
  parts.outputs = kEmbeddingEntries * llmem_ceil(narrow) + layers * llmem_ceil(wide) +
                  llmem_ceil(is_projected ? narrow : wide);
  parts.back = layers * llmem_ceil(wide * other_ranks) +
               (is_projected ? llmem_ceil(narrow * other_ranks) : 0);
}

std::string refusal(const EstimateInputs& inputs) {
  if (std::string reason = llmem_refusal(inputs); !reason.empty()) {
    return reason;
  }
  const bool is_replicated =
      llmem_method(inputs) == LlmemMethod::cdp && inputs.plan.parallel.dp > 1;
  return is_replicated ? "the published code does not support replicated data parallelism" : "";
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  std::vector<std::string> sentences = llmem_broken_assumptions(inputs);
  const bool has_conv1d = std::ranges::any_of(inputs.tensors, [](const ParameterInfo& tensor) {
    return tensor.role == ParameterRole::conv1d_weight;
  });
  if (has_conv1d) {
    sentences.emplace_back("it overlooks Conv1D layers: it counts no moments for their weights");
  }
  return sentences;
}

Estimate evaluate(const EstimateInputs& inputs) {
  const LlmemInventory inventory = llmem_inventory(inputs.plan.model, inputs.tensors);
  const LlmemJob job = llmem_job(inputs);
  const std::vector<std::int64_t> chunks = llmem_code_chunks(inventory, job);
  return llmem_code_peak(llmem_code_parts(inventory, chunks, llmem_batch(inputs), job), job);
}

}  // namespace

LlmemJob llmem_code_job(LlmemMethod method, const LlmemJob& job) {
  switch (method) {
    case LlmemMethod::cdp:
      return {.m_base = job.m_base, .n = 1, .tp_n = 1};
    case LlmemMethod::adp:
      return {.m_base = job.m_base, .n = job.n, .tp_n = 1};
    case LlmemMethod::tp:
      return {.m_base = job.m_base, .n = job.n, .tp_n = job.n};
    case LlmemMethod::dp_tp:
      return job;
  }
  return job;
}

std::vector<std::int64_t> llmem_code_chunks(const LlmemInventory& inventory, const LlmemJob& job) {
  const std::vector<std::int64_t> sizes = llmem_local_sizes(inventory, job.tp_n);
  return gemini_chunks(sizes, gemini_chunk_size(sizes, job.n / job.tp_n));
}

LlmemCodeParts llmem_code_parts(const LlmemInventory& inventory,
                                const std::vector<std::int64_t>& chunks, const LlmemBatch& batch,
                                const LlmemJob& job) {
  const auto logit = static_cast<double>(inventory.V * inventory.B);
  LlmemCodeParts parts;
  add_chunks(parts, chunks, job);
  add_parameters(parts, inventory, job);
  add_outputs(parts, inventory, batch, job);
  parts.logits =
      llmem_ceil(batch.bs * batch.sl * logit) + 2 * llmem_ceil(batch.bs * (batch.sl - 1) * logit);
  parts.inputs = llmem_ceil(kSampleRows * batch.sl * kIdBytes);
  return parts;
}

Estimate llmem_code_peak(const LlmemCodeParts& parts, const LlmemJob& job) {
  using enum MemoryPart;
  return {{{"base", "base without chunks", job.m_base, {outside}},
           {"fp16 chunks", "SUM ceil(2 cs/dp)", parts.chunks16, {parameters, gradients}},
           {"fp32 chunks", "SUM ceil(4 cs/dp)", parts.chunks32, {optimizer_states}},
           {"moments", "SUM 2 ceil(4 e/n)", parts.moments, {optimizer_states}},
           {"gathered parameters", "SUM ceil(ceil(2 e) share)", parts.gathered, {communication}},
           {"head weight", "ceil(2 e_last)", parts.head_weights, {parameters}},
           {"outputs", "SUM ceil(2 bs sl width)", parts.outputs, {activations}},
           {"logits", "ceil(bs sl V B) + 2 ceil(bs (sl-1) V B)", parts.logits, {logits}},
           {"gathered outputs", "SUM ceil(2 bs sl width (tp-1)/tp)", parts.back, {temporaries}},
           {"input ids", "ceil(2 sl 8)", parts.inputs, {inputs}}}};
}

const Formula kLlmemCode{
    .name = "llmem-code",
    .title = "LLMem, as its published code counts",
    .scope = FormulaScope::device,
    .equation =
        "base + chunks + SUM over weights and biases of Embedding and Linear modules, each "
        "rounded up to 2 MiB + outputs, with one layer fewer in backward + logits + input ids",
    .source =
        "the estimator published with \"LLMem: Estimating GPU Memory Usage for Fine-Tuning "
        "Pre-Trained LLMs\", for Transformers 4.29.2",
    .assumptions = kLlmemAssumptions,
    .known_errors =
        "every bias costs 4 MiB of moments, although the allocator serves small tensors from "
        "shared segments; a tied head is counted twice; the base is measured there, but a "
        "constant here; tensor parallelism is assumed to split every Linear and Embedding weight",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
};

}  // namespace highwater
