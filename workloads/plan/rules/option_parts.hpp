// Options that belong to one wrapper or program, by group: a rule names those that a plan changes.
#pragma once

#include <array>
#include <type_traits>

#include "workloads/plan/rules/rule.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules::parts {

/// Whether a member of one of the plan's structs has another value than by default.
template <auto group, auto member>
bool is_changed(const PlanFacts& f) {
  const auto& options = f.plan->parallel.*group;
  return options.*member != std::remove_cvref_t<decltype(options)>{}.*member;
}

template <auto member>
inline constexpr auto kChangedFsdp = is_changed<&Parallelism::fsdp, member>;
template <auto member>
inline constexpr auto kChangedZero = is_changed<&Parallelism::zero, member>;
template <auto member>
inline constexpr auto kChangedDdp = is_changed<&Parallelism::ddp, member>;
template <auto member>
inline constexpr auto kChangedMegatron = is_changed<&Parallelism::megatron, member>;
template <auto member>
inline constexpr auto kChangedApex = is_changed<&Parallelism::apex, member>;
template <auto member>
inline constexpr auto kChangedGemini = is_changed<&Parallelism::gemini, member>;

template <auto member>
bool is_changed_search(const PlanFacts& f) {
  return f.plan->parallel.gemini.search.*member != ChunkSearch{}.*member;
}

template <auto member>
bool is_changed_power_sgd(const PlanFacts& f) {
  return f.plan->parallel.ddp.power_sgd.*member != PowerSgd{}.*member;
}

inline constexpr std::array kFsdp1Options{
    Part{kChangedFsdp<&Fsdp::strategy>, "strategy"},
    Part{kChangedFsdp<&Fsdp::use_orig_params>, "use-orig-params"},
    Part{kChangedFsdp<&Fsdp::limit_all_gathers>, "limit-all-gathers"},
    Part{kChangedFsdp<&Fsdp::forward_prefetch>, "forward-prefetch"},
    Part{kChangedFsdp<&Fsdp::backward_prefetch>, "backward-prefetch"}};

inline constexpr std::array kFsdpOptions{Part{kChangedFsdp<&Fsdp::param_dtype>, "param-dtype"},
                                         Part{kChangedFsdp<&Fsdp::reduce_dtype>, "reduce-dtype"},
                                         Part{kChangedFsdp<&Fsdp::reshard>, "reshard"},
                                         Part{kChangedFsdp<&Fsdp::units>, "fsdp-units"},
                                         Part{kChangedFsdp<&Fsdp::replicas>, "dp-replicate"},
                                         kFsdp1Options[0],
                                         kFsdp1Options[1],
                                         kFsdp1Options[2],
                                         kFsdp1Options[3],
                                         kFsdp1Options[4]};

inline constexpr std::array kPowerSgdOptions{
    Part{is_changed_power_sgd<&PowerSgd::rank>, "powersgd-rank"},
    Part{is_changed_power_sgd<&PowerSgd::start_iter>, "powersgd-start-iter"},
    Part{is_changed_power_sgd<&PowerSgd::min_compression_rate>, "powersgd-min-rate"},
    Part{is_changed_power_sgd<&PowerSgd::error_feedback>, "powersgd-error-feedback"},
    Part{is_changed_power_sgd<&PowerSgd::warm_start>, "powersgd-warm-start"}};

inline constexpr std::array kDdpOptions{
    Part{kChangedDdp<&Ddp::bucket_cap_mb>, "bucket-cap-mb"},
    Part{kChangedDdp<&Ddp::bucket_view>, "bucket-view"},
    Part{kChangedDdp<&Ddp::static_graph>, "static-graph"},
    Part{kChangedDdp<&Ddp::find_unused>, "find-unused-parameters"},
    Part{kChangedDdp<&Ddp::comm_hook>, "ddp-comm-hook"},
    Part{kChangedDdp<&Ddp::zero_redundancy>, "zero-redundancy"},
    kPowerSgdOptions[0],
    kPowerSgdOptions[1],
    kPowerSgdOptions[2],
    kPowerSgdOptions[3],
    kPowerSgdOptions[4]};

inline constexpr std::array kZeroOptions{
    Part{kChangedZero<&Zero::reduce_bucket_size>, "reduce-bucket-size"},
    Part{kChangedZero<&Zero::overlap_comm>, "overlap-comm"},
    Part{kChangedZero<&Zero::contiguous_gradients>, "contiguous-gradients"},
    Part{kChangedZero<&Zero::reduce_scatter>, "reduce-scatter"},
    Part{kChangedZero<&Zero::pin_memory>, "pin-memory"},
    Part{kChangedZero<&Zero::round_robin_gradients>, "round-robin-gradients"},
    Part{kChangedZero<&Zero::sub_group_size>, "sub-group-size"},
    Part{kChangedZero<&Zero::prefetch_bucket_size>, "prefetch-bucket-size"},
    Part{kChangedZero<&Zero::param_persistence_threshold>, "param-persistence-threshold"},
    Part{kChangedZero<&Zero::model_persistence_threshold>, "model-persistence-threshold"},
    Part{kChangedZero<&Zero::max_live_parameters>, "max-live-parameters"},
    Part{kChangedZero<&Zero::max_reuse_distance>, "max-reuse-distance"},
    Part{kChangedZero<&Zero::offload_ratio>, "offload-ratio"},
    Part{kChangedZero<&Zero::optimizer_device>, "offload-optimizer-device"},
    Part{kChangedZero<&Zero::param_device>, "offload-param-device"},
    Part{kChangedZero<&Zero::optimizer_buffer_count>, "offload-optimizer-buffer-count"},
    Part{kChangedZero<&Zero::param_buffer_count>, "offload-param-buffer-count"},
    Part{kChangedZero<&Zero::param_buffer_size>, "offload-param-buffer-size"},
    Part{kChangedZero<&Zero::max_in_cpu>, "max-in-cpu"},
    Part{kChangedZero<&Zero::hpz_partition_size>, "hpz-partition-size"},
    Part{kChangedZero<&Zero::init>, "zero-init"},
    // Beside them where the engine shards nothing.
    Part{[](const PlanFacts& f) {
           return f.plan->parallel.dp_kind == DataParallel::zero0 &&
                  f.plan->parallel.offload != Offload::none;
         },
         "offload"}};

inline constexpr std::array kApexOptions{
    Part{kChangedApex<&Apex::bucket_cap_mb>, "apex-bucket-mb"},
    Part{kChangedApex<&Apex::store_remainders>, "apex-remainders"},
    Part{kChangedApex<&Apex::contiguous_grads>, "apex-contiguous-grads"}};

inline constexpr std::array kMegatronOptions{
    Part{kChangedMegatron<&Megatron::layers>, "transformer-impl"},
    Part{kChangedMegatron<&Megatron::fp8>, "fp8-recipe"},
    Part{kChangedMegatron<&Megatron::te_cross_entropy>, "te-cross-entropy"},
    Part{kChangedMegatron<&Megatron::overlap_grad_reduce>, "overlap-grad-reduce"},
    Part{kChangedMegatron<&Megatron::overlap_param_gather>, "overlap-param-gather"},
    Part{kChangedMegatron<&Megatron::fp32_grads>, "fp32-grads"},
    Part{kChangedMegatron<&Megatron::bucket_size>, "ddp-bucket-size"},
    Part{kChangedMegatron<&Megatron::wgrad_fusion>, "wgrad-fusion"},
    Part{kChangedMegatron<&Megatron::rope_fusion>, "rope-fusion"},
    Part{kChangedMegatron<&Megatron::vocab_divisor>, "vocab-divisor"},
    // DeepSpeed's layer has it as well.
    Part{[](const PlanFacts& f) {
           return f.plan->parallel.megatron.moe_capacity_factor.has_value() &&
                  f.plan->experts != Experts::deepspeed;
         },
         "moe-capacity-factor"},
    Part{kChangedMegatron<&Megatron::moe_grouped_gemm>, "moe-grouped-gemm"},
    Part{kChangedMegatron<&Megatron::moe_permute_fusion>, "moe-permute-fusion"},
    Part{kChangedMegatron<&Megatron::moe_router_fp32>, "moe-router-fp32"},
    Part{kChangedMegatron<&Megatron::moe_balancing>, "moe-balancing"},
    Part{kChangedMegatron<&Megatron::recompute_modules>, "recompute-modules"},
    Part{kChangedMegatron<&Megatron::muon_tp>, "muon-tp-mode"},
    Part{kChangedMegatron<&Megatron::muon_split_qkv>, "muon-split-qkv"},
    Part{kChangedMegatron<&Megatron::muon_nesterov>, "muon-nesterov"}, kApexOptions[0],
    kApexOptions[1], kApexOptions[2]};

inline constexpr std::array kGeminiOptions{
    Part{is_changed_search<&ChunkSearch::smallest>, "gemini-min-chunk"},
    Part{is_changed_search<&ChunkSearch::range>, "gemini-search-range"},
    Part{is_changed_search<&ChunkSearch::step>, "gemini-search-step"},
    Part{kChangedGemini<&Gemini::keep_lone_chunks_gathered>, "gemini-gather-lone"},
    Part{kChangedGemini<&Gemini::empties_cache>, "gemini-empty-cache"},
    Part{kChangedGemini<&Gemini::placement>, "gemini-placement"},
    Part{kChangedGemini<&Gemini::pins_memory>, "gemini-pin"},
    Part{kChangedGemini<&Gemini::gathered_limit_mib>, "gemini-const-mb"},
    Part{kChangedGemini<&Gemini::warmup_other_share>, "gemini-warmup-ratio"},
    Part{kChangedGemini<&Gemini::steady_share>, "gemini-steady-ratio"},
    Part{kChangedGemini<&Gemini::margin_share>, "gemini-margin-ratio"}};

}  // namespace highwater::plan_rules::parts
