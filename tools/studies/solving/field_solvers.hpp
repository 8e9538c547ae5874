// How each field is solved (solve_field.hpp).
#pragma once

#include "tools/studies/solving/solve_field.hpp"

namespace highwater {

/// Sequences of a micro-batch, in as many as the ranks of a grid share.
FieldSolution solve_batch(const SolveField& field, const FieldQuestion& question);

/// Tokens, in multiples of 64 unless a step is given: kernels and masks want sequences aligned, and
/// those that are not can take more memory than longer ones. Context and sequence parallelism ask
/// for multiples of their parts.
FieldSolution solve_seq(const SolveField& field, const FieldQuestion& question);

/// The hidden size (workloads/plan/model/model_width.hpp).
FieldSolution solve_hidden(const SolveField& field, const FieldQuestion& question);

FieldSolution solve_lora(const SolveField& field, const FieldQuestion& question);

/// The capacity of the device without what lies outside the allocator. The search goes down from
/// the peak of unlimited memory: with less, the allocator releases its cache and tries again, so
/// that a run may need less than its peak.
FieldSolution solve_memory(const SolveField& field, const FieldQuestion& question);

/// Data-parallel ranks of the strategy that the plan names, or GPUs of any.
FieldSolution solve_gpus(const SolveField& field, const FieldQuestion& question);

/// The policies of checkpoint_policies.hpp from the cheapest on, until one fits.
FieldSolution solve_checkpoint(const SolveField& field, const FieldQuestion& question);

}  // namespace highwater
