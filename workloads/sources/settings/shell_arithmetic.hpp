// Arithmetic of launch scripts: "$((GLOBAL / GPUS / BATCH))", "expr 64 / 8", "let N=A*B". Nothing
// is carried out: the text alone is evaluated.
//
// Sources: bash(1), ARITHMETIC EVALUATION (operators, precedence, 64 bits); POSIX.1-2017, expr and
// bc.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace highwater {

/// What a variable holds; absent if that is not known.
using VariableText = std::function<std::optional<std::string>(const std::string& name)>;

/// Absent for what is no expression, divides by zero, leaves 64 bits, or asks for a variable that
/// is not known.
std::optional<std::int64_t> arithmetic_value(std::string_view expression,
                                             const VariableText& variables);

/// "N = A * B", "N += 1", "N++".
struct ArithmeticAssignment {
  std::string name;
  std::optional<std::int64_t> value;
};

/// Absent if the expression assigns nothing.
std::optional<ArithmeticAssignment> arithmetic_assignment(std::string_view expression,
                                                          const VariableText& variables);

/// The number that a command prints, in the forms that stand in launch scripts: "expr 8 / 2",
/// "echo 8/2 | bc", "bc <<< 8/2", "python -c print(8//2)"; variables replaced, quotes removed.
/// Absent for other commands, and where the number need not be whole.
std::optional<std::int64_t> printed_number(std::string_view command);

}  // namespace highwater
