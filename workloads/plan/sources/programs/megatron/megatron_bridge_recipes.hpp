// What Megatron Bridge's recipes of dense Llama and Qwen2 models set, as overrides may change it.
//
// Source: Megatron Bridge (August 2026), src/megatron/bridge/recipes: common.py _pretrain_common
// and _sft_common, llama/h100/llama2.py and llama3.py, qwen/h100/qwen2.py; older names in
// llama/*.py and qwen/qwen2.py.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace highwater::program_table {

struct BridgeRecipe {
  enum class Use : std::uint8_t { pretrain, tuning };

  std::string_view name;
  std::string_view older_name;
  std::string_view model;
  std::string_view tp;
  std::string_view pp;
  std::string_view chunks;
  std::string_view cp;
  std::string_view sp;
  std::string_view seq;
  std::string_view batch;
  std::string_view global_batch;
  std::string_view overlaps;  ///< overlap_grad_reduce and overlap_param_gather
  Use use = Use::pretrain;
};

namespace bridge_recipes {

using Use = BridgeRecipe::Use;

inline constexpr std::array kAll{
    BridgeRecipe{"llama2_7b_pretrain_2gpu_h100_bf16_config", "llama2_7b_pretrain_config",
                 "llama-2-7b", "2", "1", "", "1", "false", "4096", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama32_1b_pretrain_1gpu_h100_bf16_config", "llama32_1b_pretrain_config",
                 "llama-3.2-1b", "1", "1", "", "1", "false", "8192", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama32_3b_pretrain_1gpu_h100_bf16_config", "llama32_3b_pretrain_config",
                 "llama-3.2-3b", "1", "1", "", "1", "false", "8192", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama3_8b_pretrain_2gpu_h100_bf16_config", "llama3_8b_pretrain_config",
                 "llama-3-8b", "1", "1", "", "2", "false", "8192", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama3_8b_pretrain_16gpu_h100_bf16_16k_config", "llama3_8b_16k_pretrain_config",
                 "llama-3-8b", "4", "2", "", "2", "true", "16384", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama3_8b_pretrain_32gpu_h100_bf16_64k_config", "llama3_8b_64k_pretrain_config",
                 "llama-3-8b", "4", "2", "", "4", "true", "65536", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama3_8b_pretrain_64gpu_h100_bf16_128k_config", "llama3_8b_128k_pretrain_config",
                 "llama-3-8b", "4", "2", "", "8", "true", "131072", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama3_70b_pretrain_32gpu_h100_bf16_config", "llama3_70b_pretrain_config",
                 "llama-3-70b", "4", "4", "5", "2", "true", "8192", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama3_70b_pretrain_32gpu_h100_bf16_16k_config", "llama3_70b_16k_pretrain_config",
                 "llama-3-70b", "8", "2", "", "2", "true", "16384", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama3_70b_pretrain_256gpu_h100_bf16_64k_config",
                 "llama3_70b_64k_pretrain_config", "llama-3-70b", "8", "4", "", "8", "true",
                 "65536", "1", "512", "true", Use::pretrain},
    BridgeRecipe{"llama31_8b_pretrain_2gpu_h100_bf16_config", "llama31_8b_pretrain_config",
                 "llama-3.1-8b", "1", "1", "", "2", "false", "8192", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama31_70b_pretrain_32gpu_h100_bf16_config", "llama31_70b_pretrain_config",
                 "llama-3.1-70b", "4", "4", "5", "2", "true", "131072", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama31_405b_pretrain_256gpu_h100_bf16_config", "llama31_405b_pretrain_config",
                 "llama-3.1-405b", "8", "8", "2", "4", "true", "131072", "1", "512", "true",
                 Use::pretrain},
    BridgeRecipe{"llama32_1b_sft_1gpu_h100_bf16_config", "llama32_1b_sft_config", "llama-3.2-1b",
                 "1", "1", "", "1", "false", "4096", "1", "8", "false", Use::tuning},
    BridgeRecipe{"llama32_3b_sft_1gpu_h100_bf16_config", "llama32_3b_sft_config", "llama-3.2-3b",
                 "1", "1", "", "1", "false", "4096", "1", "8", "false", Use::tuning},
    BridgeRecipe{"llama3_8b_sft_2gpu_h100_bf16_config", "llama3_8b_sft_config", "llama-3-8b", "2",
                 "1", "", "1", "false", "4096", "1", "8", "false", Use::tuning},
    BridgeRecipe{"llama31_8b_sft_2gpu_h100_bf16_config", "llama31_8b_sft_config", "llama-3.1-8b",
                 "2", "1", "", "1", "false", "4096", "1", "8", "false", Use::tuning},
    BridgeRecipe{"llama3_70b_sft_32gpu_h100_bf16_config", "llama3_70b_sft_config", "llama-3-70b",
                 "8", "4", "", "1", "false", "4096", "1", "8", "false", Use::tuning},
    BridgeRecipe{"llama31_70b_sft_32gpu_h100_bf16_config", "llama31_70b_sft_config",
                 "llama-3.1-70b", "8", "4", "", "1", "false", "4096", "1", "8", "false",
                 Use::tuning},
    BridgeRecipe{"llama31_405b_sft_128gpu_h100_bf16_config", "llama31_405b_sft_config",
                 "llama-3.1-405b", "8", "16", "", "1", "true", "2048", "1", "16", "true",
                 Use::tuning},
    BridgeRecipe{"qwen2_500m_pretrain_1gpu_h100_bf16_config", "qwen2_500m_pretrain_config",
                 "qwen2-0.5b", "1", "1", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen2_1p5b_pretrain_1gpu_h100_bf16_config", "qwen2_1p5b_pretrain_config",
                 "qwen2-1.5b", "1", "1", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen2_7b_pretrain_2gpu_h100_bf16_config", "qwen2_7b_pretrain_config",
                 "qwen2.5-7b", "2", "1", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen2_72b_pretrain_32gpu_h100_bf16_config", "qwen2_72b_pretrain_config",
                 "qwen2.5-72b", "8", "4", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen25_500m_pretrain_1gpu_h100_bf16_config", "qwen25_500m_pretrain_config",
                 "qwen2.5-0.5b", "1", "1", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen25_1p5b_pretrain_1gpu_h100_bf16_config", "qwen25_1p5b_pretrain_config",
                 "qwen2.5-1.5b", "1", "1", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen25_7b_pretrain_2gpu_h100_bf16_config", "qwen25_7b_pretrain_config",
                 "qwen2.5-7b", "2", "1", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen25_14b_pretrain_4gpu_h100_bf16_config", "qwen25_14b_pretrain_config",
                 "qwen2.5-14b", "4", "1", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen25_32b_pretrain_16gpu_h100_bf16_config", "qwen25_32b_pretrain_config",
                 "qwen2.5-32b", "8", "2", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen25_72b_pretrain_32gpu_h100_bf16_config", "qwen25_72b_pretrain_config",
                 "qwen2.5-72b", "8", "4", "", "1", "false", "4096", "2", "32", "false",
                 Use::pretrain},
    BridgeRecipe{"qwen2_500m_sft_1gpu_h100_bf16_config", "qwen2_500m_sft_config", "qwen2-0.5b", "1",
                 "1", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
    BridgeRecipe{"qwen2_1p5b_sft_1gpu_h100_bf16_config", "qwen2_1p5b_sft_config", "qwen2-1.5b", "1",
                 "1", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
    BridgeRecipe{"qwen2_7b_sft_2gpu_h100_bf16_config", "qwen2_7b_sft_config", "qwen2.5-7b", "2",
                 "1", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
    BridgeRecipe{"qwen2_72b_sft_32gpu_h100_bf16_config", "qwen2_72b_sft_config", "qwen2.5-72b", "8",
                 "4", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
    BridgeRecipe{"qwen25_500m_sft_1gpu_h100_bf16_config", "qwen25_500m_sft_config", "qwen2.5-0.5b",
                 "1", "1", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
    BridgeRecipe{"qwen25_1p5b_sft_1gpu_h100_bf16_config", "qwen25_1p5b_sft_config", "qwen2.5-1.5b",
                 "1", "1", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
    BridgeRecipe{"qwen25_7b_sft_2gpu_h100_bf16_config", "qwen25_7b_sft_config", "qwen2.5-7b", "2",
                 "1", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
    BridgeRecipe{"qwen25_14b_sft_4gpu_h100_bf16_config", "qwen25_14b_sft_config", "qwen2.5-14b",
                 "4", "1", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
    BridgeRecipe{"qwen25_32b_sft_16gpu_h100_bf16_config", "qwen25_32b_sft_config", "qwen2.5-32b",
                 "8", "2", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
    BridgeRecipe{"qwen25_72b_sft_32gpu_h100_bf16_config", "qwen25_72b_sft_config", "qwen2.5-72b",
                 "8", "4", "", "1", "false", "2048", "1", "128", "true", Use::tuning},
};

}  // namespace bridge_recipes

}  // namespace highwater::program_table
