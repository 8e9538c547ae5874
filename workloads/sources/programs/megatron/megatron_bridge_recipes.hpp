// What Megatron Bridge's recipes of dense Llama and Qwen2 models set, as overrides may change it:
// `megatron_bridge` of the models in workloads/facts/models.json, which cites the sources.
#pragma once

#include <string>
#include <string_view>

namespace highwater::program_table {

/// Values as the options of a plan take them.
struct BridgeRecipe {
  std::string_view name;
  std::string_view older_name;
  std::string_view model;
  std::string tp;
  std::string pp;
  std::string chunks;  ///< empty: the schedule is not interleaved
  std::string cp;
  std::string sp;
  std::string seq;
  std::string batch;
  std::string global_batch;
  std::string overlaps;        ///< overlap_grad_reduce and overlap_param_gather
  bool packs_offline = false;  ///< texts into sequences
};

/// By either name; nullptr if it is not known.
const BridgeRecipe* find_bridge_recipe(std::string_view name);

}  // namespace highwater::program_table
