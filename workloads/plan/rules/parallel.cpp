// Rules about the axes of parallelism (whatever splits along them), DistributedDataParallel and
// DeepSpeed's options: what cannot be divided, and options given without the kind they belong to.
#include <array>

#include "workloads/plan/offload.hpp"
#include "workloads/plan/rules/option_parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

bool is_interleaved(const Parallelism& p) {
  return p.pp > 1 && p.schedule == PipelineSchedule::interleaved;
}

constexpr std::array kPartsOfSizes{
    Part{[](const PlanFacts& f) { return !is_a_size(f.plan->parallel.dp); }, "dp"},
    Part{[](const PlanFacts& f) { return !is_a_size(f.plan->parallel.tp); }, "tp"},
    Part{[](const PlanFacts& f) { return !is_a_size(f.plan->parallel.pp); }, "pp"},
    Part{[](const PlanFacts& f) { return !is_a_size(f.plan->parallel.cp); }, "cp"},
    Part{[](const PlanFacts& f) { return !is_a_size(f.plan->parallel.ep); }, "ep"},
    Part{[](const PlanFacts& f) { return !is_a_size(f.plan->parallel.chunks); }, "pp-chunks"}};

constexpr std::array kPartsOfEvents{
    Part{[](const PlanFacts& f) { return f.plan->parallel.event_lag < 0; }, "event-lag"},
    Part{[](const PlanFacts& f) { return f.plan->parallel.event_queries < 0; }, "event-queries"}};

bool has_second_copy(const PlanFacts& f) {
  return f.plan->parallel.zero.hpz_partition_size > 1;
}

constexpr std::array kPartsOfStage3{
    Part{[](const PlanFacts& f) { return f.plan->parallel.zero.offload_ratio != 1; },
         "offload-ratio"},
    Part{[](const PlanFacts& f) {
           return f.plan->parallel.zero.param_device == OffloadDevice::nvme;
         },
         "offload-param-device nvme"},
    Part{[](const PlanFacts& f) {
           return f.plan->parallel.zero.optimizer_device == OffloadDevice::nvme;
         },
         "offload-optimizer-device nvme"},
    Part{has_second_copy, "hpz-partition-size"}};

constexpr std::array kPartsOfDevices{
    Part{[](const PlanFacts& f) {
           return f.plan->parallel.zero.param_device == OffloadDevice::nvme &&
                  !offloads_params(f.plan->parallel);
         },
         "offload-param-device"},
    Part{[](const PlanFacts& f) {
           return f.plan->parallel.zero.optimizer_device == OffloadDevice::nvme &&
                  !offloads_optimizer(f.plan->parallel);
         },
         "offload-optimizer-device"}};

constexpr std::array kParallelRules{
    Rule{[](const PlanFacts& /*f*/) { return true; },
         "{asked}: a size is out of range; use 1 to 1048576 ranks on each axis", kPartsOfSizes},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const long double gpus = static_cast<long double>(p.dp) * p.tp * p.pp * p.cp;
           return sizes_are_sound(p) && gpus > kMostGpus;
         },
         "dp * tp * pp * cp: the job would have more than 1048576 GPUs; use smaller sizes"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return f.shape.heads > 0 && p.tp > 1 && f.shape.heads % p.tp != 0 && !is_gemini(f) &&
                  !splits_over_grid(p);
         },
         "tp {tp}: the {heads} attention heads of {model} cannot be split evenly; use a divisor "
         "of {heads}"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return f.shape.layers > 0 && p.pp > f.shape.layers + f.shape.decoder_layers;
         },
         "pp {pp}: {model} has fewer layers than stages; use fewer stages"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.sequence_parallel && f.plan->parallel.tp == 1;
         },
         "sp: sequence parallelism splits along the tensor-parallel ranks; add --tp"},
    Rule{[](const PlanFacts& f) { return f.plan->parallel.ep > 1 && f.shape.experts == 0; },
         "ep {ep}: {model} is not a mixture of experts; omit the option"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.ep > 1 && f.shape.experts > 0 && f.shape.experts % p.ep != 0;
         },
         "ep {ep}: the {experts} experts of {model} cannot be spread evenly; use a divisor of "
         "{experts}"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.schedule == PipelineSchedule::interleaved &&
                  f.plan->parallel.pp == 1;
         },
         "pp-schedule interleaved: there is only one stage; add --pp"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_interleaved(p) && runs_megatron(f) && f.plan->grad_accum % p.pp != 0;
         },
         "pp-schedule interleaved: micro-batches pass through the stages in groups of {pp}; use a "
         "--grad-accum that is a multiple of {pp}"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_interleaved(p) && f.shape.layers > 0 &&
                  f.shape.layers < std::int64_t{p.pp} * p.chunks;
         },
         "pp-chunks: {model} has too few layers to give each chunk of the {pp} stages one; use "
         "fewer chunks"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const auto& cap = p.ddp.bucket_cap_mb;
           return cap && !(*cap > 0 && *cap <= 1e9);
         },
         "bucket-cap-mb: the size is out of range; use more than 0 and at most 1e9 MiB"},
    Rule{[](const PlanFacts& /*f*/) { return true; },
         "{asked}: the value must not be negative; use 0 or more", kPartsOfEvents},
    Rule{
        [](const PlanFacts& f) { return !is_ddp(f.plan->parallel); },
        "{asked}: only DistributedDataParallel has this; add --dp with dp-kind ddp, or omit {them}",
        parts::kDdpOptions},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return f.plan->framework == Framework::deepspeed &&
                  (p.dp_kind == DataParallel::ddp || is_fsdp1(p) || is_fsdp2(p));
         },
         "framework deepspeed: its engine reduces gradients itself; use dp-kind zero0, zero1, "
         "zero2 or zero3"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.no_sync && p.dp * p.cp == 1;
         },
         "no-sync: a single rank has nothing to synchronize; add --dp"},
    Rule{[](const PlanFacts& f) {
           return is_ddp(f.plan->parallel) && f.plan->optimizer.in_backward;
         },
         "optimizer-in-backward with dp {dp}: each parameter would be updated before its gradient "
         "is summed over the ranks; omit one of them"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_ddp(p) && p.ddp.static_graph && p.no_sync && f.plan->grad_accum > 1;
         },
         "static-graph with no-sync: DistributedDataParallel cannot learn the graph in a backward "
         "that reduces nothing; omit one of them"},
    Rule{[](const PlanFacts& f) {
           return uses_deepspeed(*f.plan) && f.plan->parallel.zero.reduce_bucket_size < 1;
         },
         "reduce-bucket-size: a bucket holds at least one element; use 1 or more"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return uses_deepspeed(*f.plan) && p.zero.init && p.dp_kind != DataParallel::zero3;
         },
         "zero-init: only stage 3 partitions parameters; use dp-kind zero3"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return uses_deepspeed(*f.plan) && p.dp_kind == DataParallel::zero3 &&
                  p.zero.offload_ratio != 1 &&
                  (!offloads_optimizer(p) || p.zero.optimizer_device != OffloadDevice::cpu ||
                   f.plan->optimizer.impl != OptimizerImpl::deepspeed);
         },
         "offload-ratio: DeepSpeed updates a part of the sub-groups on the GPU only beside its "
         "CPUAdam; add --offload optimizer or both, and --optimizer-impl deepspeed"},
    Rule{[](const PlanFacts& f) {
           return uses_deepspeed(*f.plan) && f.plan->parallel.dp_kind != DataParallel::zero3;
         },
         "{asked}: only stage 3 has this (runtime/zero/config.py); use dp-kind zero3",
         kPartsOfStage3},
    Rule{[](const PlanFacts& f) { return uses_deepspeed(*f.plan); },
         "{asked}: it says where --offload keeps its part; add --offload params, optimizer or both",
         kPartsOfDevices},
    // groups.py _create_zero_param_parallel_group; partition_parameters.py _partition_param_sec,
    // which asks torch for a tensor on "nvme".
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const int ranks = p.dp * p.cp;
           return has_second_copy(f) && uses_deepspeed(*f.plan) &&
                  p.zero.hpz_partition_size < ranks && ranks % p.zero.hpz_partition_size != 0;
         },
         "hpz-partition-size: the ranks cannot be grouped evenly; use a divisor of their number"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return has_second_copy(f) && p.zero.param_device == OffloadDevice::nvme;
         },
         "hpz-partition-size with offload-param-device nvme: DeepSpeed makes the second copy where "
         "parameters are offloaded to, and torch has no such device; use cpu"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.zero.init && f.plan->init != ModelInit::device;
         },
         "zero-init with init {init}: deepspeed.zero.Init() creates parameters on the device; omit "
         "one of them"},
    Rule{[](const PlanFacts& f) { return !uses_deepspeed(*f.plan); },
         "{asked}: only DeepSpeed's ZeRO has this; add --dp with dp-kind zero1, zero2 or zero3, or "
         "omit {them}",
         parts::kZeroOptions},
    Rule{[](const PlanFacts& f) {
           return !uses_deepspeed(*f.plan) && f.plan->optimizer.impl == OptimizerImpl::deepspeed;
         },
         "optimizer-impl deepspeed: DeepSpeed's engine makes it; add --dp with dp-kind zero0, "
         "zero1, zero2 or zero3"},
    Rule{[](const PlanFacts& f) {
           return uses_deepspeed(*f.plan) && f.plan->parallel.dp_kind == DataParallel::zero0;
         },
         "{asked} with dp-kind zero0: the engine without ZeRO has none of this; use dp-kind zero1, "
         "zero2 or zero3, or omit {them}",
         parts::kZeroOptions},
};

}  // namespace

std::span<const Rule> parallel_rules() {
  return kParallelRules;
}

}  // namespace highwater::plan_rules
