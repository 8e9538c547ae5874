// The names by which the facts call the readers that programs share.
#include <array>

#include "workloads/sources/programs/megatron/megatron_readers.hpp"

namespace highwater::program_table::megatron_keys {
namespace {

constexpr std::array kSharedMegatronReaders{
    NamedReader{"activation", read_activation},
    NamedReader{"balancing", read_balancing},
    NamedReader{"capacity", read_capacity},
    NamedReader{"chunks", read_chunks},
    NamedReader{"clip", read_clip},
    NamedReader{"cp_type", read_cp_type},
    NamedReader{"distributed", read_distributed},
    NamedReader{"dropout", read_dropout},
    NamedReader{"empty_level", read_empty_level},
    NamedReader{"expert_tp", read_expert_tp},
    NamedReader{"experts", read_experts},
    NamedReader{"flash_switch", read_flash_switch},
    NamedReader{"fp8", read_fp8},
    NamedReader{"fsdp", read_fsdp},
    NamedReader{"fusion", read_fusion},
    NamedReader{"global_batch", read_global_batch},
    NamedReader{"granularity", read_granularity},
    NamedReader{"layer_freq", read_layer_freq},
    NamedReader{"layer_wise_layout", read_layer_wise_layout},
    NamedReader{"layers_per_chunk", read_layers_per_chunk},
    NamedReader{"loss_fusion", read_loss_fusion},
    NamedReader{"megatron_deepspeed", read_megatron_deepspeed},
    NamedReader{"model", read_model},
    NamedReader{"modules_of_layers", read_modules_of_layers},
    NamedReader{"part_length", read_part_length},
    NamedReader{"rampup", read_rampup},
    NamedReader{"recomputed_layers", read_recomputed_layers},
    NamedReader{"recomputed_modules", read_recomputed_modules},
    NamedReader{"sequence_parallel", read_sequence_parallel},
    NamedReader{"sharding", read_sharding},
    NamedReader{"softmax_fusion", read_softmax_fusion},
    NamedReader{"unfused_sum", read_unfused_sum},
};

}  // namespace

std::span<const NamedReader> megatron_readers() {
  return kSharedMegatronReaders;
}

}  // namespace highwater::program_table::megatron_keys
