// Rules that check the requested attention against the model, the data type and the GPU: what
// PyTorch 2.6 and transformers 5.12 refuse. The rules about kernels were tried on the real release
// (sdpa backends by dtype, head size and architecture).
#include <array>

#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

/// As cudnn_head_dim of workloads/kernels/attention.cpp.
bool has_wide_cudnn(const PlanFacts& f) {
  const bool is_recent_gpu = f.plan->gpu.major == 9 || f.plan->gpu.major == 10;
  return is_recent_gpu && !torch_is_before(f, {2, 15});
}

/// As flash_backward_fits of workloads/kernels/attention.cpp, of dropout 0.
bool lacks_wide_flash_backward(const PlanFacts& f) {
  const Gpu& gpu = f.plan->gpu;
  const bool is_wide = f.shape.head_dim > 192 && f.shape.head_dim <= 224;
  return f.plan->training && is_wide && gpu.major == 8 && gpu.minor >= 6;
}

/// Megatron-Core's own choice is never PyTorch's: the package flash-attn, or cuDNN.
bool takes_flash(const PlanFacts& f) {
  return is_attention(f, Attention::sdpa_flash) ||
         (runs_megatron(f) && is_attention(f, Attention::sdpa));
}

constexpr std::array kAttentionRules{
    Rule{[](const PlanFacts& f) {
           return is_attention(f, Attention::flex) != is_recent_torchtitan(*f.plan);
         },
         "attention {attention}: torchtitan 0.3 runs flex_attention and nothing else, which is "
         "modelled for no other model code; use --attention flex with --model-code torchtitan and "
         "--torchtitan 0.3, and another kernel without them"},
    Rule{[](const PlanFacts& f) {
           return !is_attention(f, Attention::eager) && f.plan->model_code == ModelCode::hf &&
                  !has_sdpa(*f.plan);
         },
         "attention {attention}: transformers implements only eager attention for {family}; use "
         "eager"},
    Rule{[](const PlanFacts& f) {
           return f.plan->experts == Experts::grouped_mm && torch_is_before(f, {2, 9});
         },
         "experts grouped_mm: PyTorch has grouped products since 2.9; use eager or batched_mm, or "
         "give --torch 2.9"},
    Rule{[](const PlanFacts& f) {
           return is_attention(f, Attention::sdpa_flash) && compute_dtype(f) == DType::fp32 &&
                  !runs_megatron(f);
         },
         "attention sdpa-flash: the kernel supports only bf16 and fp16; use another precision or "
         "attention sdpa-efficient"},
    Rule{[](const PlanFacts& f) {
           return is_attention(f, Attention::sdpa_cudnn) && compute_dtype(f) == DType::fp32;
         },
         "attention sdpa-cudnn: the kernel supports only bf16 and fp16; use another precision or "
         "attention sdpa-efficient"},
    Rule{[](const PlanFacts& f) { return takes_flash(f) && f.shape.head_dim > 256; },
         "attention sdpa-flash: a head dimension of {head_dim} is too large for the kernel (at "
         "most 256); use attention sdpa-efficient"},
    Rule{[](const PlanFacts& f) {
           return is_attention(f, Attention::sdpa_cudnn) &&
                  f.shape.head_dim > (has_wide_cudnn(f) ? 256 : 128);
         },
         "attention sdpa-cudnn: a head dimension of {head_dim} is too large for the kernel (at "
         "most 128; 256 on Hopper and Blackwell since PyTorch 2.15); use attention sdpa"},
    Rule{[](const PlanFacts& f) {
           return (takes_flash(f) || is_attention(f, Attention::sdpa_cudnn)) &&
                  f.plan->gpu.major < 8;
         },
         "attention {attention}: it needs compute capability 8.0, but {gpu} has {capability}; use "
         "attention sdpa-efficient or another GPU"},
    Rule{[](const PlanFacts& f) {
           return (takes_flash(f) || is_attention(f, Attention::sdpa_efficient)) &&
                  f.plan->gpu.major >= 10 && torch_is_before(f, {2, 7});
         },
         "attention {attention}: PyTorch builds this kernel for {gpu} since 2.7; give --torch 2.7, "
         "or use attention sdpa"},
    Rule{[](const PlanFacts& f) { return takes_flash(f) && lacks_wide_flash_backward(f); },
         "attention sdpa-flash: no backward pass of the kernel for a head dimension of {head_dim} "
         "on {gpu}; use attention sdpa-efficient or another GPU"},
    Rule{[](const PlanFacts& f) {
           return is_attention(f, Attention::sdpa_efficient) && f.plan->gpu.major < 8 &&
                  compute_dtype(f) == DType::bf16;
         },
         "attention sdpa-efficient: bf16 needs compute capability 8.0, but {gpu} has {capability}; "
         "use precision fp16 or attention sdpa-math"},
};

}  // namespace

std::span<const Rule> attention_rules() {
  return kAttentionRules;
}

}  // namespace highwater::plan_rules
