// Options of Megatron-LM that are options here: sizes, degrees and kinds.
//
// Sources: Megatron-LM (August 2026), megatron/training/arguments.py, megatron/training/config,
// megatron/core/transformer/transformer_config.py; releases since 2.5 for options that are gone.
#pragma once

#include <array>

#include "workloads/plan/sources/programs/megatron/megatron_readers.hpp"
#include "workloads/plan/sources/rules/reasons.hpp"

namespace highwater::program_table::megatron_keys {

using namespace reasons;

inline constexpr std::array kBf16{ValueWord{"true", "bf16"}, ValueWord{"false", ""}};
inline constexpr std::array kFp16{ValueWord{"true", "fp16"}, ValueWord{"false", ""}};
inline constexpr std::array kMegatronOptimizers{
    ValueWord{"adam", "adamw"}, ValueWord{"muon", "muon"}, ValueWord{"dist_muon", "muon"},
    ValueWord{"sgd", "sgd"}};
inline constexpr std::array kTurnedOff{ValueWord{"true", "false"}, ValueWord{"false", ""}};
inline constexpr std::array kUnpadded{ValueWord{"true", "1"}, ValueWord{"false", ""}};
inline constexpr std::array kAttentionBackends{
    ValueWord{"auto", "sdpa-flash"}, ValueWord{"flash", "sdpa-flash"},
    ValueWord{"fused", "sdpa-flash"}, ValueWord{"unfused", "eager"}, ValueWord{"local", "eager"}};
inline constexpr std::array kFlash{ValueWord{"true", "sdpa-flash"}, ValueWord{"false", ""}};
inline constexpr std::array kSharded{ValueWord{"true", "zero3"}, ValueWord{"false", ""}};
inline constexpr std::array kCoreAttention{ValueWord{"true", "selective-attention"},
                                           ValueWord{"false", ""}};
inline constexpr std::array kFull{ValueWord{"true", "full"}, ValueWord{"false", ""}};
inline constexpr std::array kGroupedExperts{ValueWord{"true", "grouped_mm"},
                                            ValueWord{"false", ""}};
inline constexpr std::array kBackends{ValueWord{"nccl", "nccl"}, ValueWord{"gloo", "fake"}};
inline constexpr std::array kFakeGroup{ValueWord{"true", "fake"}, ValueWord{"false", ""}};

inline constexpr std::array kMegatronSizes{
    becomes("tensor_model_parallel_size", "tp"),
    becomes("model_parallel_size", "tp"),
    becomes("pipeline_model_parallel_size", "pp"),
    becomes("context_parallel_size", "cp"),
    becomes("expert_model_parallel_size", "ep"),
    by_context("sequence_parallel", read_sequence_parallel),
    becomes("micro_batch_size", "batch"),
    becomes("batch_size", "batch"),
    becomes("seq_length", "seq"),
    by_context("encoder_seq_length", read_part_length),
    by_context("decoder_seq_length", read_part_length),
    by_context("clip_grad", read_clip),
    becomes("bf16", "precision", kBf16),
    becomes("fp16", "precision", kFp16),
    becomes("optimizer", "optimizer", kMegatronOptimizers),
    becomes("overlap_grad_reduce", "overlap-grad-reduce"),
    becomes("overlap_param_gather", "overlap-param-gather"),
    becomes("no_gradient_accumulation_fusion", "wgrad-fusion", kTurnedOff),
    becomes("no_rope_fusion", "rope-fusion", kTurnedOff),
    becomes("accumulate_allreduce_grads_in_fp32", "fp32-grads"),
    becomes("grad_reduce_in_bf16", "fp32-grads", kTurnedOff),
    becomes("ddp_bucket_size", "ddp-bucket-size"),
    becomes("make_vocab_size_divisible_by", "vocab-divisor"),
    becomes("no_pad_vocab_size", "vocab-divisor", kUnpadded),
    becomes("disable_pad_vocab_size", "vocab-divisor", kUnpadded),
    by_context("cp_comm_type", read_cp_type),
    becomes("attention_backend", "attention", kAttentionBackends),
    becomes("use_flash_attn", "attention", kFlash),
    becomes("use_flash_attn_v1", "attention", kFlash),
    becomes("use_flash_attn_v2", "attention", kFlash),
    becomes("use_flash_attn_triton", "attention", kFlash),
    by_context("use_distributed_optimizer", read_distributed),
    by_context("no_use_layer_wise_param_layout", read_layer_wise_layout),
    becomes("muon_tp_mode", "muon-tp-mode"),
    becomes("muon_no_split_qkv", "muon-split-qkv", kTurnedOff),
    becomes("muon_nesterov", "muon-nesterov"),
    unsupported("muon_fp32_matmul_prec", "Newton-Schulz iterations in fp32 instead of bf16",
                "medium"),
    unsupported("muon_use_syrk", "a Triton kernel for Gram matrices"),
    unsupported("muon_scalar_optimizer", "one state of embeddings and vectors", "adam"),
    becomes("use_torch_fsdp2", "dp-kind", kSharded),
    by_context("use_megatron_fsdp", read_fsdp),
    by_context("use_custom_fsdp", read_fsdp),
    by_context("data_parallel_sharding_strategy", read_sharding),
    becomes("recompute_activations", "checkpoint", kCoreAttention),
    by_context("recompute_granularity", read_granularity),
    becomes("checkpoint_activations", "checkpoint", kFull),
    ignored("recompute_method", "which layers; see recompute-num-layers"),
    by_context("recompute_num_layers", read_recomputed_layers),
    by_context("checkpoint_num_layers", read_recomputed_layers),
    by_context("recompute_modules", read_recomputed_modules),
    by_context("global_batch_size", read_global_batch),
    by_context("num_layers_per_virtual_pipeline_stage", read_layers_per_chunk),
    by_context("num_virtual_stages_per_pipeline_rank", read_chunks),
    by_context("empty_unused_memory_level", read_empty_level),
    becomes("moe_grouped_gemm", "experts", kGroupedExperts),
    by_context("moe_expert_capacity_factor", read_capacity),
    ignored("moe_pad_expert_input_to_capacity", "read with moe-expert-capacity-factor"),
    becomes("distributed_backend", "backend", kBackends),
    becomes("fake_process_group", "backend", kFakeGroup),
};

}  // namespace highwater::program_table::megatron_keys
