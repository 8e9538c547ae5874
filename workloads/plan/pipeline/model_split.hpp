// Which blocks each stage of a pipeline outside of Megatron-Core holds.
//
// torchtitan of January 2025 (torchtitan/parallelisms/pipelining_utils.py: generate_split_points,
// stage_ids_this_rank with style "loop"): every stage gets the rounded-down share of the blocks,
// the remainder goes one by one to the stages after the first, and the last stage takes the rest.
// The embedding is on the first stage, norm and head on the last; nothing is shared, so a tied head
// is a parameter of its own there.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/plan/parallelism.hpp"
#include "workloads/plan/pipeline/model_part.hpp"

namespace highwater::pipelining {

/// Whether one process drives all devices, one micro-batch at a time, without any pipelining.
bool is_naive(const Parallelism& p);

/// The number of parts of the sequence into which tensor parallelism splits what stages pass on.
constexpr int sequence_parts(const Parallelism& p) {
  return p.sequence_parallel ? p.tp : 1;
}

/// Blocks of each of `stages` virtual stages. @pre 1 <= stages <= layers
std::vector<std::int64_t> layers_of_stages(std::int64_t layers, std::int64_t stages);

/// The parts of a model of `layers` blocks on pipeline rank `stage`, by model chunk. Chunk c of
/// rank s is virtual stage c * stages + s.
/// @pre 0 <= stage < stages; layers >= stages * chunks
std::vector<nn::ModelPart> parts_of_stage(std::int64_t layers, int stages, int stage, int chunks);

}  // namespace highwater::pipelining
