// Keys of Megatron-LM's files (--yaml-cfg) and of Megatron Bridge that no option is called like:
// fields of TransformerConfig and ModelParallelConfig.
//
// Sources: Megatron-LM (August 2026), megatron/training/arguments.py, megatron/training/config,
// megatron/core/transformer/transformer_config.py; releases since 2.5 for options that are gone.
#pragma once

#include <array>

#include "workloads/plan/sources/programs/megatron/megatron_readers.hpp"
#include "workloads/plan/sources/rules/reasons.hpp"

namespace highwater::program_table::megatron_keys {

using namespace reasons;

inline constexpr std::array kMegatronFields{
    by_context("virtual_pipeline_model_parallel_size", read_chunks),
    ignored("num_moe_experts", kInModel),
    ignored("gated_linear_unit", kInModel),
    ignored("activation_func", kInModel),
    ignored("add_bias_linear", kInModel),
    ignored("layernorm_zero_centered_gamma", kInModel),
    ignored("share_embeddings_and_output_weights", kInModel),
    ignored("add_position_embedding", kInModel),
    becomes("gradient_accumulation_fusion", "wgrad-fusion"),
    becomes("apply_rope_fusion", "rope-fusion"),
    by_context("bias_activation_fusion", read_fusion),
    by_context("bias_swiglu_fusion", read_fusion),
    by_context("bias_gelu_fusion", read_fusion),
    by_context("bias_dropout_fusion", read_fusion),
    ignored("masked_softmax_fusion", "as the launch line has it by default"),
    ignored("persist_layer_norm", "as the launch line has it by default"),
    ignored("memory_efficient_layer_norm", "as the launch line has it by default"),
    ignored("align_grad_reduce", "as the launch line has it by default"),
    ignored("align_param_gather", "as the launch line has it by default"),
    ignored("scatter_gather_tensors_in_pipeline", "as the launch line has it by default"),
    ignored("perform_initialization", "as the launch line has it by default"),
    ignored("barrier_with_L1_time", "as the launch line has it by default"),
    ignored("async_tensor_model_parallel_allreduce", "as the launch line has it by default"),
    ignored("init_method", "set by the program itself"),
    ignored("output_layer_init_method", "set by the program itself"),
    ignored("params_dtype", "set by the program itself"),
    ignored("pipeline_dtype", "set by the program itself"),
    ignored("autocast_dtype", "set by the program itself"),
    ignored("enable_autocast", "set by the program itself"),
    ignored("timers", "set by the program itself"),
    ignored("variable_seq_lengths", "set by the program itself"),
    ignored("deallocate_pipeline_outputs", "set by the program itself"),
    ignored("overlap_p2p_comm", "set by the program itself"),
    ignored("num_microbatches_with_partial_activation_checkpoints", "set by the program itself"),
    ignored("clone_scatter_output_in_embedding", "set by the program itself"),
    unsupported("fp8", "float8 products of Transformer Engine", "none"),
    unsupported("fp4", "products in four bits", "none"),
    unsupported("cpu_offloading", "activations of layers go to the host"),
    ignored("cpu_offloading_weights", "read with cpu-offloading only"),
    ignored("cpu_offloading_activations", "read with cpu-offloading only"),
    ignored("cpu_offloading_double_buffering", "read with cpu-offloading only"),
    ignored("_cpu_offloading_context", "read with cpu-offloading only"),
    ignored("export_force_local_attention", "read for export only"),
    ignored("enable_gpt_oss", "read for export only"),
};

}  // namespace highwater::program_table::megatron_keys
