// Files of `highwater fit` (.hwp), and the values of their integers that a command line gives.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/scaling/monomials.hpp"
#include "tools/files/input.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

/// Whether the file holds a program, by its content. False for what cannot be opened.
bool is_program_file(const std::string& path);

/// @throws InputError if it holds none
ScalableProgram read_program_file(const std::string& path, const ReadingOptions& options = {});

/// The file appears when it is complete.
void write_program_file(const ScalableProgram& program, const std::string& path);

/// "batch=8,seq=512". @throws UsageError, which names `option`
NamedIntegers parse_named_integers(const std::string& text, std::string_view option);

/// One value per integer of the program. @throws UsageError for names that it does not have, and
/// those that are missing
Values values_for(const ScalableProgram& program, const NamedIntegers& given,
                  const std::string& path);

/// "batch 8, seq 512".
std::string values_words(const ScalableProgram& program, const Values& values);

/// The name of the condition that is a GPU.
constexpr std::string_view kGpuCondition = "GPU";

/// nullptr where there is none of that name.
const FixedCondition* find_condition(std::span<const FixedCondition> conditions,
                                     std::string_view name);

/// "holds for GPU h100-80, PyTorch 2.15.0, ..."
std::string conditions_words(const ScalableProgram& program);

}  // namespace highwater
