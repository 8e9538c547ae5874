// How a plan reads in LLMem's terms: for the paper's formulas and the published code's.
#pragma once

#include <string>
#include <vector>

#include "workloads/estimates/estimate_inputs.hpp"
#include "workloads/estimates/llmem.hpp"

namespace highwater {

/// Why LLMem says nothing about the plan, or "".
std::string llmem_refusal(const EstimateInputs& inputs);

/// Which assumptions of LLMem the plan breaks.
std::vector<std::string> llmem_broken_assumptions(const EstimateInputs& inputs);

/// @pre llmem_refusal(inputs) is empty
LlmemMethod llmem_method(const EstimateInputs& inputs);

LlmemBatch llmem_batch(const EstimateInputs& inputs);
LlmemJob llmem_job(const EstimateInputs& inputs);

}  // namespace highwater
