// Options of how a job spreads over GPUs: the size and kind of each axis, and what goes to the
// host.
#include <array>

#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

constexpr std::array kParallelSizesRows{
    Option{"dp", "N", data_parallel, common, "data-parallel ranks",
           "Megatron-LM arguments.py: WORLD_SIZE 1",
           whole<OfParallel<&Parallelism::dp>>(1, kMostRanks)},
    Option{"dp-kind", "K", data_parallel, common, "", "Highwater's choice: PyTorch's oldest",
           word<OfParallel<&Parallelism::dp_kind>, kDataParallels>()}
        .and_more("zero kinds are DeepSpeed's engine, or the framework's own"),
    Option{"tp", "N", model_parallel, common, "tensor-parallel ranks",
           "megatron-core 0.16.1 model_parallel_config.py",
           whole<OfParallel<&Parallelism::tp>>(1, kMostRanks)},
    Option{"tp-kind", "K", model_parallel, common, "", "Highwater's choice: the paper's own code",
           word<OfParallel<&Parallelism::tp_kind>, kTensorParallels>()}
        .and_more("2d, 2.5d, 3d: Colossal-AI's layers over a grid of ranks"),
    Option{"tp-depth", "N", model_parallel, rare, "tp-kind 2.5d: grids that hold the same weights",
           "colossalai 0.5 legacy/context/process_group_initializer/initializer_2p5d.py",
           whole<OfParallel<&Parallelism::tp_depth>>(1, kMostRanks)},
    Option{"sp", "", model_parallel, common, "sequence parallelism along the tensor-parallel ranks",
           "megatron-core 0.16.1 model_parallel_config.py sequence_parallel",
           flag<OfParallel<&Parallelism::sequence_parallel>>()}
        .and_more("each norm works on part of the sequence"),
    Option{"loss-parallel", "", model_parallel, rare,
           "tp-kind dtensor: logits stay split over the vocabulary (loss_parallel)",
           "torch 2.6 distributed/tensor/parallel/loss.py: on demand",
           flag<OfParallel<&Parallelism::loss_parallel>>()},
    Option{"pp", "N", model_parallel, common, "pipeline stages",
           "megatron-core 0.16.1 model_parallel_config.py",
           whole<OfParallel<&Parallelism::pp>>(1, kMostRanks)}
        .and_more("Megatron-Core's with --model-code megatron, otherwise those of "
                  "torch.distributed.pipelining over --grad-accum micro-batches of --batch "
                  "sequences"),
    Option{"pp-schedule", "S", model_parallel, common, "",
           "megatron-core 0.16.1 pipeline_parallel/schedules.py get_forward_backward_func",
           word<OfParallel<&Parallelism::schedule>, kSchedules>()}
        .and_more("naive: one process spreads a transformers model over N GPUs (device_map); a "
                  "rank is a GPU"),
    Option{"pp-chunks", "N", model_parallel, rare,
           "model chunks per rank of an interleaved schedule",
           "Highwater's choice: the fewest that interleave",
           whole<OfParallel<&Parallelism::chunks>>(1, kMostRanks)},
    Option{"cp", "N", model_parallel, common, "context-parallel ranks: parts of each sequence",
           "megatron-core 0.16.1 model_parallel_config.py",
           whole<OfParallel<&Parallelism::cp>>(1, kMostRanks)},
    Option{"ep", "N", model_parallel, common, "ranks that share the experts, of dp * cp",
           "megatron-core 0.16.1 model_parallel_config.py",
           whole<OfParallel<&Parallelism::ep>>(1, kMostRanks)}
        .and_more("with Megatron's --etp 1 of tp * dp * cp"),
    Option{"etp", "N", model_parallel, rare,
           "ranks that split each of Megatron's experts: 1, or those of tp",
           "megatron-core 0.16.1 model_parallel_config.py expert_tensor_parallel_size",
           optional_whole<OfParallel<&Parallelism::etp>, Absent::standard>(1, kMostRanks)}
        .with_default("tp"),
    Option{"offload", "W", memory, common, "kept in host memory",
           "deepspeed 0.16.4 runtime/zero/config.py offload_optimizer: None",
           word<OfParallel<&Parallelism::offload>, kOffloads>()}
        .and_more("params and both with fsdp1, fsdp2: parameters, gradients and optimizer states "
                  "in pinned host memory (CPUOffload, CPUOffloadPolicy(pin_memory=True)); "
                  "optimizer with DeepSpeed's zero1, zero2, zero3; activations: "
                  "torch.autograd.graph.save_on_cpu(pin_memory=True) around forward and loss"),
};

}  // namespace

std::span<const Option> parallel_sizes_options() {
  return kParallelSizesRows;
}

}  // namespace highwater::option_sections
