// The words of a plan's axes: one table per axis, read in both directions.
//
// They are the words of the recordings' case files, with dashes.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "workloads/plan/attention.hpp"
#include "workloads/plan/checkpoint.hpp"
#include "workloads/plan/ddp_options.hpp"
#include "workloads/plan/experts.hpp"
#include "workloads/plan/framework.hpp"
#include "workloads/plan/fsdp_options.hpp"
#include "workloads/plan/gemini_options.hpp"
#include "workloads/plan/loss.hpp"
#include "workloads/plan/megatron_options.hpp"
#include "workloads/plan/optimizer.hpp"
#include "workloads/plan/parallel_kinds.hpp"
#include "workloads/plan/precision.hpp"
#include "workloads/plan/quantization.hpp"
#include "workloads/plan/script.hpp"
#include "workloads/plan/zero_options.hpp"

namespace highwater {

template <class Value>
struct Word {
  std::string_view word;
  Value value;
};

// Deduced without it by GCC 12, not by clang 16.
template <class Value>
Word(std::string_view, Value) -> Word<Value>;

// In the order of --help. The first word of a value is the one printed.
inline constexpr std::array kModelCodes{
    Word{"hf", ModelCode::hf}, Word{"torchtitan", ModelCode::torchtitan},
    Word{"torchtune", ModelCode::torchtune}, Word{"megatron", ModelCode::megatron}};
inline constexpr std::array kFrameworks{Word{"hf", Framework::hf},
                                        Word{"trainer", Framework::trainer},
                                        Word{"trl-sft", Framework::trl_sft},
                                        Word{"trl-dpo", Framework::trl_dpo},
                                        Word{"trl-kto", Framework::trl_kto},
                                        Word{"trl-orpo", Framework::trl_orpo},
                                        Word{"trl-reward", Framework::trl_reward},
                                        Word{"trl-grpo", Framework::trl_grpo},
                                        Word{"trl-rloo", Framework::trl_rloo},
                                        Word{"accelerate", Framework::accelerate},
                                        Word{"accelerate-fsdp2", Framework::accelerate_fsdp2},
                                        Word{"torchtitan", Framework::torchtitan},
                                        Word{"torchtune", Framework::torchtune},
                                        Word{"lightning", Framework::lightning},
                                        Word{"torch", Framework::torch},
                                        Word{"deepspeed", Framework::deepspeed},
                                        Word{"megatron", Framework::megatron},
                                        Word{"nemo", Framework::nemo},
                                        Word{"colossalai-gemini", Framework::colossalai_gemini}};
inline constexpr std::array kEngines{
    Word{"auto", EngineKind::automatic}, Word{"model", EngineKind::model},
    Word{"torch", EngineKind::torch}, Word{"both", EngineKind::both}};
inline constexpr std::array kPrecisions{
    Word{"fp32", Precision::fp32},         Word{"bf16", Precision::bf16},
    Word{"fp16", Precision::fp16},         Word{"amp-bf16", Precision::amp_bf16},
    Word{"amp-fp16", Precision::amp_fp16}, Word{"bf16+amp", Precision::bf16_autocast}};
inline constexpr std::array kAttentions{Word{"eager", Attention::eager},
                                        Word{"sdpa", Attention::sdpa},
                                        Word{"sdpa-flash", Attention::sdpa_flash},
                                        Word{"sdpa-efficient", Attention::sdpa_efficient},
                                        Word{"sdpa-math", Attention::sdpa_math},
                                        Word{"sdpa-cudnn", Attention::sdpa_cudnn},
                                        Word{"flex", Attention::flex}};
inline constexpr std::array kCheckpoints{
    Word{"none", CheckpointKind::none},
    Word{"full", CheckpointKind::full},
    Word{"every-N", CheckpointKind::every_n},
    Word{"selective-op", CheckpointKind::selective_op},
    Word{"selective-attention", CheckpointKind::selective_attention},
    Word{"selective", CheckpointKind::selective_op}};
inline constexpr std::array kCheckpointImpls{Word{"nonreentrant", false}, Word{"reentrant", true}};
inline constexpr std::array kOptimizerImpls{
    Word{"default", OptimizerImpl::standard}, Word{"foreach", OptimizerImpl::foreach},
    Word{"fused", OptimizerImpl::fused}, Word{"loop", OptimizerImpl::loop},
    Word{"deepspeed", OptimizerImpl::deepspeed}};
inline constexpr std::array kLosses{Word{"hf", LossKind::hf},
                                    Word{"shift", LossKind::shift},
                                    Word{"flat", LossKind::flat},
                                    Word{"chunked-N", LossKind::chunked},
                                    Word{"fused", LossKind::fused},
                                    Word{"trl", LossKind::trl},
                                    Word{"contrastive", LossKind::contrastive}};
inline constexpr std::array kInits{
    Word{"device", ModelInit::device}, Word{"cpu", ModelInit::cpu}, Word{"meta", ModelInit::meta},
    Word{"pretrained-half", ModelInit::pretrained_half}, Word{"pretrained", ModelInit::pretrained}};
inline constexpr std::array kZeroGradAt{Word{"end", ZeroGradAt::end},
                                        Word{"start", ZeroGradAt::start},
                                        Word{"backward", ZeroGradAt::backward}};
inline constexpr std::array kEvalOutputs{Word{"loss", EvalOutputs::loss},
                                         Word{"argmax", EvalOutputs::argmax},
                                         Word{"logits", EvalOutputs::logits}};
inline constexpr std::array kDataSources{Word{"to", DataSource::to},
                                         Word{"device", DataSource::device}};
inline constexpr std::array kAttentionMasks{Word{"none", AttentionMask::none},
                                            Word{"full", AttentionMask::full},
                                            Word{"padded", AttentionMask::padded}};
inline constexpr std::array kExperts{Word{"eager", Experts::eager}, Word{"even", Experts::even},
                                     Word{"batched_mm", Experts::batched_mm},
                                     Word{"grouped_mm", Experts::grouped_mm},
                                     Word{"deepspeed", Experts::deepspeed}};
inline constexpr std::array kGateNoises{Word{"none", GateNoise::none},
                                        Word{"rsample", GateNoise::rsample},
                                        Word{"jitter", GateNoise::jitter}};
inline constexpr std::array kDataParallels{
    Word{"ddp", DataParallel::ddp},     Word{"zero0", DataParallel::zero0},
    Word{"zero1", DataParallel::zero1}, Word{"zero2", DataParallel::zero2},
    Word{"zero3", DataParallel::zero3}, Word{"fsdp1", DataParallel::fsdp1},
    Word{"fsdp2", DataParallel::fsdp2}};
inline constexpr std::array kOffloadDevices{Word{"cpu", OffloadDevice::cpu},
                                            Word{"nvme", OffloadDevice::nvme}};
inline constexpr std::array kTensorParallels{
    Word{"megatron", TensorParallel::megatron},    Word{"colossalai", TensorParallel::colossalai},
    Word{"dtensor", TensorParallel::dtensor},      Word{"2d", TensorParallel::colossalai_2d},
    Word{"2.5d", TensorParallel::colossalai_2p5d}, Word{"3d", TensorParallel::colossalai_3d}};
inline constexpr std::array kRecomputeModules{
    Word{"core-attn", RecomputeModule::core_attention},
    Word{"moe-act", RecomputeModule::moe_activation},
    Word{"layernorm", RecomputeModule::layernorm},
    Word{"mla-up-proj", RecomputeModule::latent_projections},
    Word{"mlp", RecomputeModule::mlp},
    Word{"moe", RecomputeModule::moe},
    Word{"shared-experts", RecomputeModule::shared_experts}};
inline constexpr std::array kMegatronLayers{
    Word{"local", MegatronLayers::local},
    Word{"transformer-engine", MegatronLayers::transformer_engine}};
inline constexpr std::array kFp8Recipes{
    Word{"none", Fp8Recipe::none}, Word{"delayed", Fp8Recipe::delayed},
    Word{"tensorwise", Fp8Recipe::tensorwise}, Word{"blockwise", Fp8Recipe::blockwise},
    Word{"mxfp8", Fp8Recipe::mxfp8}};
inline constexpr std::array kMoeBalancings{Word{"none", MoeBalancing::none},
                                           Word{"aux-loss", MoeBalancing::aux_loss},
                                           Word{"seq-aux-loss", MoeBalancing::seq_aux_loss}};
inline constexpr std::array kMuonTps{Word{"blockwise", MuonTp::blockwise},
                                     Word{"duplicated", MuonTp::duplicated},
                                     Word{"distributed", MuonTp::distributed}};
inline constexpr std::array kContextParallels{
    Word{"ring", ContextParallel::ring}, Word{"ulysses", ContextParallel::ulysses},
    Word{"distributed-attention", ContextParallel::distributed_attention},
    Word{"ring-self-attention", ContextParallel::ring_self_attention}};
inline constexpr std::array kSchedules{Word{"naive", PipelineSchedule::naive},
                                       Word{"gpipe", PipelineSchedule::gpipe},
                                       Word{"1f1b", PipelineSchedule::one_f_one_b},
                                       Word{"interleaved", PipelineSchedule::interleaved}};
inline constexpr std::array kOffloads{Word{"none", Offload::none},
                                      Word{"optimizer", Offload::optimizer},
                                      Word{"params", Offload::params}, Word{"both", Offload::both},
                                      Word{"activations", Offload::activations}};
inline constexpr std::array kMixedDTypes{
    Word{"none", std::optional<DType>{}}, Word{"bf16", std::optional{DType::bf16}},
    Word{"fp16", std::optional{DType::fp16}}, Word{"fp32", std::optional{DType::fp32}}};
inline constexpr std::array kWeightFormats{
    Word{"none", WeightFormat::unquantized}, Word{"nf4", WeightFormat::nf4},
    Word{"fp4", WeightFormat::fp4}, Word{"int8", WeightFormat::int8},
    Word{"int8-weight-only", WeightFormat::int8_weight_only}};
inline constexpr std::array kQuantStorages{Word{"uint8", DType::uint8}, Word{"bf16", DType::bf16},
                                           Word{"fp16", DType::fp16}, Word{"fp32", DType::fp32}};
inline constexpr std::array kQuantComputeDTypes{
    Word{"default", std::optional<DType>{}}, Word{"bf16", std::optional{DType::bf16}},
    Word{"fp16", std::optional{DType::fp16}}, Word{"fp32", std::optional{DType::fp32}}};
inline constexpr std::array kReshards{
    Word{"always", Reshard::always}, Word{"never", Reshard::never},
    Word{"but-last", Reshard::but_last}, Word{"all", Reshard::all}};
inline constexpr std::array kGeminiPlacements{
    Word{"cuda", GeminiPlacement::cuda}, Word{"cpu", GeminiPlacement::cpu},
    Word{"const", GeminiPlacement::constant}, Word{"auto", GeminiPlacement::automatic}};
inline constexpr std::array kBackwardPrefetches{Word{"none", BackwardPrefetch::none},
                                                Word{"pre", BackwardPrefetch::pre},
                                                Word{"post", BackwardPrefetch::post}};
inline constexpr std::array kFsdpUnits{Word{"blocks", FsdpUnits::blocks},
                                       Word{"ends", FsdpUnits::ends},
                                       Word{"adapters", FsdpUnits::adapters}};
inline constexpr std::array kShardingStrategies{
    Word{"full_shard", ShardingStrategy::full_shard},
    Word{"shard_grad_op", ShardingStrategy::shard_grad_op},
    Word{"no_shard", ShardingStrategy::no_shard},
    Word{"hybrid_shard", ShardingStrategy::hybrid_shard}};
inline constexpr std::array kCudnnWorkspaces{Word{"counted", CudnnWorkspaces::counted},
                                             Word{"none", CudnnWorkspaces::none}};
inline constexpr std::array kCommBackends{Word{"nccl", CommBackend::nccl},
                                          Word{"fake", CommBackend::fake}};
inline constexpr std::array kCommHooks{
    Word{"none", DdpCommHook::none}, Word{"allreduce", DdpCommHook::allreduce},
    Word{"fp16-compress", DdpCommHook::fp16_compress},
    Word{"bf16-compress", DdpCommHook::bf16_compress}, Word{"powersgd", DdpCommHook::powersgd}};
inline constexpr std::array kZeroRedundancies{Word{"none", ZeroRedundancyKind::none},
                                              Word{"parameters", ZeroRedundancyKind::parameters},
                                              Word{"buckets", ZeroRedundancyKind::buckets}};
inline constexpr std::array kModes{Word{"train", true}, Word{"eval", false}};
inline constexpr std::array kYesNo{Word{"true", true}, Word{"false", false}, Word{"yes", true},
                                   Word{"no", false},  Word{"1", true},      Word{"0", false}};

template <class Value, std::size_t N>
std::string_view word_of(const std::array<Word<Value>, N>& words, Value value) {
  return std::ranges::find(words, value, &Word<Value>::value)->word;
}

/// The words of a table without their values.
template <const auto& kWords>
inline constexpr auto kWordList = [] {
  std::array<std::string_view, kWords.size()> list;
  std::ranges::transform(kWords, list.begin(), [](const auto& word) { return word.word; });
  return list;
}();

}  // namespace highwater
