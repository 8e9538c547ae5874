// A plan in LLMem's terms, for the paper's formulas and the published code's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/estimates/llmem/llmem.hpp"

namespace highwater {

struct EstimateInputs;

/// What its formulas assume.
inline constexpr std::string_view kLlmemAssumptions =
    "a dense decoder in fp16 with fp32 copies and Adam under Colossal-AI's Gemini (ZeRO-3), every "
    "layer checkpointed, logits of the whole batch";

/// Why LLMem does not cover the plan, or "".
std::string llmem_refusal(const EstimateInputs& inputs);

/// Which assumptions of LLMem the plan breaks.
std::vector<std::string> llmem_broken_assumptions(const EstimateInputs& inputs);

/// @pre llmem_refusal(inputs) is empty
LlmemMethod llmem_method(const EstimateInputs& inputs);

LlmemBatch llmem_batch(const EstimateInputs& inputs);
LlmemJob llmem_job(const EstimateInputs& inputs);

}  // namespace highwater
