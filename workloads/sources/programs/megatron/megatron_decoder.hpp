// The decoder that Megatron-LM's and NeMo's keys describe.
//
// Source: Megatron-LM (August 2026), megatron/training/arguments.py validate_args;
// megatron/training/argument_utils.py core_transformer_config_from_args.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/sources/rules/decoder_facts.hpp"
#include "workloads/sources/settings/setting.hpp"

namespace highwater::program_table::megatron_keys {

/// Its vocabulary is left open (0).
DecoderFacts decoder_of(const SettingList& all);

/// Why the simulation has no such decoder: "multi-latent attention"; empty if it has.
std::string foreign_part(const SettingList& all);

/// Size of the tokenizer's vocabulary, by its name or by the sizes of a model that is known.
std::optional<std::int64_t> vocabulary_of(const SettingList& all, const DecoderFacts& facts);

}  // namespace highwater::program_table::megatron_keys
