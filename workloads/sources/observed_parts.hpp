// The parts of an observed plan, each read by itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "workloads/sources/observed_facts.hpp"
#include "workloads/sources/plan_source.hpp"

namespace highwater {

/// Loop, model, adapters, precision, attention.
void read_observed_model(const ObservedFacts& facts, const std::string& file, SourceKeys& keys);

/// Batches, steps, checkpointing.
void read_observed_batches(const ObservedFacts& facts, SourceKeys& keys);

/// Whether one of TRL's loops ran beside supervised fine-tuning.
bool runs_other_loop_of_trl(const ObservedFacts& facts);

/// Its framework, its batches, the model beside its own.
void read_observed_trl(const ObservedFacts& facts, SourceKeys& keys);

/// Forward passes before each backward pass; 1 where they differ or nobody counted them.
std::int64_t passes_of_backward(const ObservedFacts& facts);

/// Whether texts of pairs are encoded one after the other, and compared by a loss of the script.
bool compares_pairs(const ObservedFacts& facts);

/// Batches of pairs, of such a run.
void read_observed_pairs(const ObservedFacts& facts, SourceKeys& keys);

/// Several passes before a backward that are no pairs.
void read_observed_passes(const ObservedFacts& facts, SourceKeys& keys);

/// Evaluation, and other passes without gradients.
void read_observed_evaluation(const ObservedFacts& facts, SourceKeys& keys);

/// Optimizer and gradients.
void read_observed_optimizer(const ObservedFacts& facts, SourceKeys& keys);

/// Ranks and wrappers.
void read_observed_strategy(const ObservedFacts& facts, SourceKeys& keys);

/// Of DeepSpeed's configuration what plans lack or what changes nothing, as the facts of its file
/// say (facts/programs/deepspeed.json), but for the keys of "zero_optimization" that are in
/// `known`. Defined by workloads/sources/programs/hugging_face.
void read_observed_deepspeed(const ObservedFacts& facts, std::span<const std::string_view> known,
                             SourceKeys& keys);

/// GPU, limits, releases.
void read_observed_device(const ObservedFacts& facts, SourceKeys& keys);

/// The ranks that DeepSpeed's Ulysses spreads each sequence over; 1: none, or in an unknown way.
std::int64_t sequence_ranks(const ObservedFacts& facts);

/// "bf16" of "bfloat16"; empty for what plans do not have.
std::string plan_type(const std::string& torch_type);

/// Whether it is a loop in which the engine writes pairs and what is not trained: a script's own,
/// transformers' Trainer, or one around an Accelerator.
bool runs_known_loop(const ObservedFacts& facts);

/// "true", "false"
std::string flag_word(bool value);

}  // namespace highwater
