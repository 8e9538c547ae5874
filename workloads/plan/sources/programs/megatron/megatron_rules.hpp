// What each key of Megatron-LM means for memory: the table of its launch lines, of its files
// (--yaml-cfg) and of Megatron Bridge.
#pragma once

#include "workloads/plan/sources/programs/megatron/megatron_files.hpp"
#include "workloads/plan/sources/programs/megatron/megatron_loop.hpp"
#include "workloads/plan/sources/programs/megatron/megatron_model.hpp"
#include "workloads/plan/sources/programs/megatron/megatron_parallel.hpp"
#include "workloads/plan/sources/programs/megatron/megatron_patterns.hpp"
#include "workloads/plan/sources/programs/megatron/megatron_precision.hpp"
#include "workloads/plan/sources/programs/megatron/megatron_sizes.hpp"
#include "workloads/plan/sources/rules/joined_rules.hpp"

namespace highwater::program_table::megatron_keys {

/// Names before patterns, as the first that matches decides.
inline constexpr auto kMegatronRules =
    joined_rules(kMegatronSizes, kMegatronModel, kMegatronMixtures, kMegatronParallel,
                 kMegatronPrecision, kMegatronLoop, kMegatronFields, kMegatronPatterns);

}  // namespace highwater::program_table::megatron_keys
