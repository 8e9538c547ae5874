// The names by which the facts call the readers that programs share.
#include <array>

#include "workloads/sources/programs/pytorch/torchtitan_keys.hpp"

namespace highwater::program_table::titan_keys {
namespace {

constexpr std::array kSharedTorchtitanReaders{
    NamedReader{"checkpointing", read_checkpointing},
    NamedReader{"clip", read_clip},
    NamedReader{"comm_mode", read_comm_mode},
    NamedReader{"compile", read_compile},
    NamedReader{"converters", read_converters},
    NamedReader{"copies", read_copies},
    NamedReader{"end_layers", read_end_layers},
    NamedReader{"flavor", read_flavor},
    NamedReader{"global_batch", read_global_batch},
    NamedReader{"in_backward", read_in_backward},
    NamedReader{"loss_parallel", read_loss_parallel},
    NamedReader{"micro_batches", read_micro_batches},
    NamedReader{"offer_batch", offer_batch},
    NamedReader{"own_attention", read_own_attention},
    NamedReader{"parameter_type", read_parameter_type},
    NamedReader{"recipe", read_recipe},
    NamedReader{"reshard", read_reshard},
    NamedReader{"rotation", read_rotation},
    NamedReader{"schedule", read_schedule},
    NamedReader{"data_parallel_type", read_data_parallel_type},
    NamedReader{"shards", read_shards},
    NamedReader{"stage_layers", read_stage_layers},
    NamedReader{"tensor_parallel", read_tensor_parallel},
};

}  // namespace

std::span<const NamedReader> torchtitan_readers() {
  return kSharedTorchtitanReaders;
}

}  // namespace highwater::program_table::titan_keys
