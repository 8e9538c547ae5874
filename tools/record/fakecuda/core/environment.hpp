// Reading of the FAKE_CUDA_... variables. A value that cannot be parsed ends the process with a
// message: a recording made with other settings than the user wrote would be worse than none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace highwater::fakecuda {

/// The variable's text, nothing if it is unset or empty.
std::optional<std::string> environment_text(const char* name);

/// A whole number of bytes, with an optional suffix K, M, G or T (powers of 1024).
std::uint64_t environment_size(const char* name, std::uint64_t fallback);

/// A number between `low` and `high`.
int environment_number(const char* name, int fallback, int low, int high);

/// Like environment_size(), for any text; nothing if it is not such a number.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Prints what is wrong with the variable and ends the process with status 3.
[[noreturn]] void reject_environment(std::string_view name, std::string_view value,
                                     std::string_view reason);

}  // namespace highwater::fakecuda
