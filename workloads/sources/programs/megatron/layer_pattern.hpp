// --moe-layer-freq: which layers have a mixture, as a number or as an expression of Python.
// Source: Megatron-LM (August 2026), megatron/training/arguments.py moe_freq_type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace highwater::program_table::megatron_keys {

/// How many layers come before the mixtures: of "([0]*1+[1]*3)*1" one, of "1" none. Absent where
/// the text says something else: mixtures that are not all behind the others, or no list.
std::optional<std::int64_t> dense_layers(std::string_view text);

}  // namespace highwater::program_table::megatron_keys
