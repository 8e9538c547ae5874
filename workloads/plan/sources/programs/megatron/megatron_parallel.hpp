// Options of Megatron-LM about how a job spreads over GPUs.
//
// Sources: Megatron-LM (August 2026), megatron/training/arguments.py, megatron/training/config,
// megatron/core/transformer/transformer_config.py; releases since 2.5 for options that are gone.
#pragma once

#include <array>

#include "workloads/plan/sources/programs/megatron/megatron_readers.hpp"
#include "workloads/plan/sources/rules/reasons.hpp"

namespace highwater::program_table::megatron_keys {

using namespace reasons;

inline constexpr std::array kMegatronParallel{
    unsupported("tensor_parallel_num_weight_shards", "weights are split beside the products",
                "none|1"),
    unsupported("expert_tensor_parallel_num_weight_shards", "weights are split beside the products",
                "none|1"),
    unsupported("pipeline_model_parallel_layout", "stages with other layers than even ones",
                "none"),
    unsupported("decoder_first_pipeline_num_layers", "stages with other layers than even ones",
                "none"),
    unsupported("decoder_last_pipeline_num_layers", "stages with other layers than even ones",
                "none"),
    unsupported("pipeline_model_parallel_split_rank", "stages with other layers than even ones",
                "none"),
    unsupported("account_for_embedding_in_pipeline_split",
                "embedding or loss count as a layer of their stage"),
    unsupported("account_for_loss_in_pipeline_split",
                "embedding or loss count as a layer of their stage"),
    unsupported("standalone_embedding_stage", "embedding or loss count as a layer of their stage"),
    unsupported("mtp_standalone", "embedding or loss count as a layer of their stage"),
    unsupported("encoder_tensor_model_parallel_size", "an encoder on ranks of its own", "0"),
    unsupported("encoder_pipeline_model_parallel_size", "an encoder on ranks of its own", "0"),
    ignored("pipeline_model_parallel_comm_backend",
            "when stages exchange; buffers of one micro-batch"),
    ignored("use_ring_exchange_p2p", "when stages exchange; buffers of one micro-batch"),
    ignored("overlap_p2p_communication_warmup_flush",
            "when stages exchange; buffers of one micro-batch"),
    ignored("no_overlap_p2p_communication", "when stages exchange; buffers of one micro-batch"),
    ignored("microbatch_group_size_per_virtual_pipeline_stage",
            "when stages exchange; buffers of one micro-batch"),
    ignored("no_scatter_gather_tensors_in_pipeline",
            "when stages exchange; buffers of one micro-batch"),
    unsupported("overlap_moe_expert_parallel_comm", "two micro-batches are under way at once"),
    unsupported("overlap_dispatch_backward_with_experts_wgrad",
                "two micro-batches are under way at once"),
    unsupported("delay_wgrad_compute", "two micro-batches are under way at once"),
    unsupported("ep_overlap_early_attn_memory_release", "two micro-batches are under way at once"),
    unsupported("defer_embedding_wgrad_compute", "inputs of the head wait for the flush"),
    ignored("wgrad_deferral_limit", "read with defer-embedding-wgrad-compute only"),
    unsupported("hierarchical_context_parallel_sizes", "sequences are split by length", "none"),
    unsupported("hybrid_context_parallel", "sequences are split by length", "none"),
    unsupported("max_seqlen_per_dp_cp_rank", "sequences are split by length", "none"),
    unsupported("tp_comm_overlap", "Transformer Engine's buffers of overlapped collectives"),
    ignored("no_async_tensor_model_parallel_allreduce", "when collectives run"),
    unsupported("ddp_num_buckets", "another number of gradient buckets", "none"),
    unsupported("ddp_pad_buckets_for_high_nccl_busbw", "buckets end at multiples of 2^16"),
    ignored("ddp_average_in_collective", "when gradients are reduced; no memory"),
    ignored("ddp_reduce_scatter_with_fp32_accumulation", "when gradients are reduced; no memory"),
    ignored("no_gradient_reduce_div_fusion", "when gradients are reduced; no memory"),
    ignored("no_align_grad_reduce", "when gradients are reduced; no memory"),
    ignored("disable_align_grad_reduce", "when gradients are reduced; no memory"),
    ignored("no_align_param_gather", "when gradients are reduced; no memory"),
    ignored("no_delay_grad_reduce", "when gradients are reduced; no memory"),
    ignored("delay_param_gather", "when gradients are reduced; no memory"),
    unsupported("ddp_param_name_patterns_for_fp32_local_accumulation", "some gradients in fp32"),
    unsupported("overlap_param_gather_with_optimizer_step",
                "the first gather overlaps with the optimizer"),
    unsupported("num_distributed_optimizer_instances",
                "optimizer states are split over fewer ranks", "1"),
    ignored("outer_dp_sharding_strategy", "read with FSDP only"),
    ignored("enable_full_sharding_in_hsdp", "read with FSDP only"),
    ignored("suggested_communication_unit_size", "read with FSDP only"),
    ignored("torch_fsdp2_no_reshard_after_forward", "read with FSDP only"),
    ignored("create_all_gather_group", "read with FSDP only"),
    unsupported("use_nccl_ub", "collectives take registered buffers"),
    ignored("disable_symmetric_registration", "read with use-nccl-ub only"),
    ignored("use_contiguous_buffers_in_ddp", "always so today"),
    ignored("DDP_impl", "Megatron has one today"),
    ignored("use_tp_pp_dp_mapping", kCollectives),
    ignored("nccl_communicator_config_path", kCollectives),
    ignored("lazy_mpu_init", kCollectives),
    ignored("local_rank", kCollectives),
    ignored("use_sharp", kCollectives),
    ignored("sharp_enabled_group", kCollectives),
    ignored("high_priority_stream_groups", kCollectives),
    ignored("disable_gloo_process_groups", kCollectives),
    unsupported("disable_jit_fuser", "unfused activations keep more tensors"),
};

}  // namespace highwater::program_table::megatron_keys
