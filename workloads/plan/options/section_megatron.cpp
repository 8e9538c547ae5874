// Options of Megatron-Core's layers and data parallelism, and of Apex's optimizer as NeMo uses it.
#include <array>

#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

constexpr std::string_view kDdpConfig =
    "megatron-core 0.16.1 distributed/distributed_data_parallel_config.py";

constexpr std::string_view kMuonArguments =
    "Megatron-LM (August 2026) arguments.py --muon-tp-mode, --muon-no-split-qkv, --muon-nesterov";

constexpr std::array kMegatronRows{
    Option{"transformer-impl", "W", model_parallel, rare,
           "local, transformer-engine: whose layers Megatron's model is made of",
           "Megatron-LM arguments.py --transformer-impl",
           word<OfMegatron<&Megatron::layers>, kMegatronLayers>()}
        .and_more(
            "Transformer Engine 2.20's norms, linear layers and attention, or the layers that "
            "Megatron-Core has without it"),
    Option{"fp8-recipe", "W", model_parallel, rare,
           "none, delayed, tensorwise, blockwise, mxfp8: products of Transformer Engine in 8 bits",
           "Megatron-LM arguments.py --fp8-format, --fp8-recipe",
           word<OfMegatron<&Megatron::fp8>, kFp8Recipes>()}
        .and_more("--fp8-format e4m3 or hybrid with --fp8-recipe; weights stay in 16 bits"),
    Option{"te-cross-entropy", "", model_parallel, rare,
           "Megatron's loss is Transformer Engine's kernel",
           "Megatron-LM arguments.py --cross-entropy-loss-fusion, --cross-entropy-fusion-impl te",
           flag<OfMegatron<&Megatron::te_cross_entropy>>()},
    Option{"overlap-grad-reduce", "", model_parallel, rare,
           "Megatron reduces gradient buckets during the backward", kDdpConfig,
           flag<OfMegatron<&Megatron::overlap_grad_reduce>>()},
    Option{"overlap-param-gather", "", model_parallel, rare,
           "Megatron gathers parameters during the forward", kDdpConfig,
           flag<OfMegatron<&Megatron::overlap_param_gather>>()},
    Option{"fp32-grads", "", model_parallel, rare, "Megatron's gradient buffer is fp32",
           "Megatron-LM arguments.py validate_args: --bf16 sets it, --fp16 does not",
           flag<OfMegatron<&Megatron::fp32_grads>>()},
    Option{"wgrad-fusion", "", model_parallel, rare,
           "Megatron adds weight gradients to that buffer in the matmul",
           "Megatron-LM arguments.py --no-gradient-accumulation-fusion",
           flag<OfMegatron<&Megatron::wgrad_fusion>>()},
    Option{"rope-fusion", "", model_parallel, rare,
           "Megatron's rotary embedding is Transformer Engine's kernel",
           "Megatron-LM arguments.py --no-rope-fusion", flag<OfMegatron<&Megatron::rope_fusion>>()}
        .and_more("Megatron-Core alone has no such kernel unless apply_rope_fusion is set "
                  "(transformer_config.py)"),
    Option{"ddp-bucket-size", "N", model_parallel, rare, "elements of Megatron's gradient buckets",
           "megatron-core 0.16.1 distributed/distributed_data_parallel.py",
           optional_whole<OfMegatron<&Megatron::bucket_size>, Absent::standard>(
               1, std::int64_t{1} << 40)}
        .with_default("max(40000000, 1000000 dp) with overlap, otherwise one bucket"),
    Option{"vocab-divisor", "N", model_parallel, rare,
           "Megatron pads the vocabulary to a multiple of this times tp",
           "Megatron-LM arguments.py --make-vocab-size-divisible-by",
           whole<OfMegatron<&Megatron::vocab_divisor>>(1, 1 << 20)},
    Option{"cp-kind", "W", model_parallel, rare, "ring, ulysses: Megatron's cp_comm_type p2p, a2a",
           "Megatron-LM arguments.py --cp-comm-type p2p",
           word<OfParallel<&Parallelism::cp_kind>, kContextParallels>()}
        .and_more(
            "with transformers' models ring is PyTorch's context_parallel(), ulysses DeepSpeed's "
            "UlyssesSPAttentionHF, distributed-attention its DistributedAttention; "
            "ring-self-attention: Li et al. 2021, by Colossal-AI's layer in a plain loop"),
    Option{"moe-capacity-factor", "X", model_parallel, rare,
           "every expert takes X times its even share of tokens, padded; none: dropless",
           "megatron-core 0.16.1 transformer/transformer_config.py",
           optional_real<OfMegatron<&Megatron::moe_capacity_factor>, Absent::none>(
               1e-3, 1e3, "above 0, or none for dropless")}
        .and_more("--moe-expert-capacity-factor with --moe-pad-expert-input-to-capacity"),
    Option{
        "moe-grouped-gemm", "", model_parallel, rare,
        "Megatron's experts of a rank are multiplied at once, by Transformer Engine",
        "Megatron Bridge's recipes; off unless told in Megatron-LM arguments.py --moe-grouped-gemm",
        flag<OfMegatron<&Megatron::moe_grouped_gemm>>()},
    Option{"moe-permute-fusion", "", model_parallel, rare,
           "Transformer Engine's kernels bring tokens into the order of their experts",
           "Megatron Bridge's recipes; off unless told in Megatron-LM arguments.py "
           "--moe-permute-fusion",
           flag<OfMegatron<&Megatron::moe_permute_fusion>>()},
    Option{"moe-router-fp32", "", model_parallel, rare,
           "Megatron's router computes in fp32, otherwise in the type of its parameters",
           "Megatron Bridge's recipes; off unless told in Megatron-LM arguments.py "
           "--moe-router-dtype fp32",
           flag<OfMegatron<&Megatron::moe_router_fp32>>()},
    Option{"moe-balancing", "W", model_parallel, rare,
           "none, aux-loss, seq-aux-loss: the loss by which Megatron spreads tokens over experts",
           "Megatron-LM arguments.py --moe-router-load-balancing-type, --moe-aux-loss-coeff",
           word<OfMegatron<&Megatron::moe_balancing>, kMoeBalancings>()},
    Option{"recompute-modules", "A,B", model_parallel, rare,
           "what --checkpoint selective-attention recomputes of Megatron's layers",
           "megatron-core 0.16.1 transformer/transformer_config.py recompute_modules",
           words<OfMegatron<&Megatron::recompute_modules>, kRecomputeModules>()}
        .and_more(
            "a list with commas; Transformer Engine's layers alone have others than core-attn"),
    Option{"muon-tp-mode", "W", model_parallel, rare,
           "blockwise, duplicated, distributed: what Megatron's Muon makes orthogonal of a matrix "
           "split over tp",
           kMuonArguments, word<OfMegatron<&Megatron::muon_tp>, kMuonTps>()}
        .and_more("a rank's part alone, the gathered whole, or the part with sums over the ranks"),
    Option{"muon-split-qkv", "", model_parallel, rare,
           "Megatron's Muon makes queries, keys and values orthogonal apart", kMuonArguments,
           flag<OfMegatron<&Megatron::muon_split_qkv>>()},
    Option{"muon-nesterov", "", model_parallel, rare, "Megatron's Muon has Nesterov momentum",
           kMuonArguments, flag<OfMegatron<&Megatron::muon_nesterov>>()},
    Option{"apex-bucket-mb", "MIB", model_parallel, rare,
           "size of the buckets of Apex's DistributedFusedAdam",
           "apex contrib/optimizers/distributed_fused_adam.py bucket_cap_mb",
           real<OfApex<&Apex::bucket_cap_mb>>(1e-3, 1e6, "above 0")},
    Option{"apex-remainders", "", model_parallel, rare,
           "Apex keeps 16 extra bits per bf16 parameter instead of fp32 copies",
           "NeMo 1.20 megatron_base_model.py setup_optimization, of bf16 parameters; Apex: false",
           flag<OfApex<&Apex::store_remainders>>()},
    Option{"apex-contiguous-grads", "", model_parallel, rare,
           "Apex's gradient buckets are one buffer",
           "apex contrib/optimizers/distributed_fused_adam.py contiguous_grad_buffer",
           flag<OfApex<&Apex::contiguous_grads>>()},
};

}  // namespace

std::span<const Option> megatron_options() {
  return kMegatronRows;
}

}  // namespace highwater::option_sections
