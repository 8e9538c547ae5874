#include "workloads/estimates/llmem/llmem_published.hpp"

#include <array>

namespace highwater {
namespace {

// LLMem, Table 2. Batches are worked out from its columns: no other batch gives one common m_base.
constexpr std::array kTable2{
    LlmemMeasured{"opt-125m", 16378, 16314, 10402, 85},
    LlmemMeasured{"opt-350m", 16264, 16004, 9354, 60},
    LlmemMeasured{"bloom-560m", 16324, 16578, 10726, 10},
    LlmemMeasured{"codegen-350M", 16100, 16236, 6910, 34},
};

// LLMem, Table 3.
constexpr std::array kTable3{
    LlmemSelected{"opt-1.3b", "4DP", 688, 1616, 2186, ""},
    LlmemSelected{"opt-2.7b", "4TP", std::nullopt, 8174, 6038,
                  "the formulas give data parallelism room for 9 sequences, but it ran out of "
                  "memory; without it the scores prefer DP+TP, which fits more than half of TP's "
                  "batch and was slower"},
    LlmemSelected{"bloom-1b1", "4DP", 680, 1724, 2631, ""},
    LlmemSelected{"bloom-3b", "4TP", std::nullopt, std::nullopt, 14495,
                  "the formulas give DP+TP room for 3 sequences, but it ran out of memory"},
    LlmemSelected{"biogpt-large", "4DP", 1022, 3315, 4773, ""},
    LlmemSelected{"codegen-2B", "4TP", std::nullopt, 6314, 6244,
                  "the formulas give data parallelism room for 6 sequences, but it ran out of "
                  "memory; without it the scores prefer DP+TP, which was slower"},
    LlmemSelected{"santacoder", "4DP", 651, 1292, 1652, ""},
    LlmemSelected{"gpt-neo-1.3B", "4DP", 768, 1686, 2372, ""},
    LlmemSelected{"llama-7b", "CPU offloading", std::nullopt, std::nullopt, std::nullopt, ""},
};

}  // namespace

std::span<const LlmemMeasured> llmem_table2() {
  return kTable2;
}

std::span<const LlmemSelected> llmem_table3() {
  return kTable3;
}

}  // namespace highwater
