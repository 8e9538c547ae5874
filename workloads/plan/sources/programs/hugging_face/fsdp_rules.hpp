// Rules of FSDP's keys, shared by TrainingArguments, accelerate and axolotl.
#pragma once

#include <array>

#include "workloads/plan/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/plan/sources/programs/hugging_face/key_reasons.hpp"

namespace highwater::program_table {

inline constexpr std::array kFsdpRules{
    by_context("fsdp_*version", read_fsdp_version),
    by_context("fsdp_*sharding_strategy", read_sharding_strategy),
    by_context("fsdp_*reshard_after_forward", read_reshard),
    ignored("fsdp_*cpu_offload_pin_memory", reasons::kHost),
    by_context("fsdp_*offload_params", read_fsdp_offload),
    by_context("fsdp_*cpu_offload", read_fsdp_offload),
    by_context("fsdp_*auto_wrap_policy", read_wrap_policy),
    ignored("fsdp_*transformer_layer_cls_to_wrap", reasons::kWithOther),
    ignored("fsdp_*min_num_params", reasons::kWithOther),
    by_context("fsdp_*backward_prefetch", read_backward_prefetch),
    // accelerate before 0.25 (commands/config/cluster.py).
    by_context("fsdp_*backward_prefetch_policy", read_backward_prefetch),
    by_context("fsdp_*forward_prefetch", read_forward_prefetch),
    by_context("fsdp_*use_orig_params", read_use_orig_params),
    by_context("fsdp_*limit_all_gathers", read_limit_all_gathers),
    ignored("fsdp_*state_dict_type", reasons::kFiles),
    ignored("fsdp_*sync_module_states", reasons::kNumbers),
    by_context("fsdp_*cpu_ram_efficient_loading", read_efficient_loading),
    unsupported("fsdp_*activation_checkpointing_offload",
                "inputs of checkpointed blocks go to the host"),
    by_context("fsdp_*activation_checkpointing", read_fsdp_checkpointing),
    unsupported("fsdp_*ignored_modules", "modules that every rank keeps whole"),
    by_context("fsdp_*mixed_precision_policy", read_fsdp_policy),
    ignored("fsdp_*xla*", reasons::kOtherDevice),
};

}  // namespace highwater::program_table
